"""Single bits flipped anywhere in a data directory (bench/trust/flips.py)."""

import os

import flip_directory
import flips
from bench_trust import PartFailed

FIGURES = ["trust.flips_handled_pct", "trust.flips_silent_losses"]
TARGETS = ["fathom-server", "fathom-store", "fathom-agent", "fathom-worker", "capture_writer"]
SEED = 20261127
FLIPS, QUICK_FLIPS = 1000, 100


def run(context):
    flip_directory.BIN = context.programs
    os.environ["TMPDIR"] = str(context.work_directory)
    flips.tempfile.tempdir = None  # read TMPDIR again
    count = QUICK_FLIPS if context.is_quick else FLIPS
    try:
        outcomes = flips.run(count, SEED)
    except (AssertionError, OSError) as failure:
        raise PartFailed(str(failure)) from failure
    silent = outcomes["silent"]
    return {"trust.flips_handled_pct": 100 * (count - silent) / count, "trust.flips_silent_losses": silent}
