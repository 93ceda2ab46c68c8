"""Single bits flipped anywhere in data directories (bench/trust/flips.py)."""

import os

import flip_directory
import flips
from bench_trust import PartFailed

FIGURES = ["trust.flips_handled_pct", "trust.flips_silent_losses", "trust.flips_doubled"]
TARGETS = ["fathom-server", "fathom-store", "fathom-agent", "fathom-worker", "capture_writer"]
SEED = 20261127
FLIPS, QUICK_FLIPS = 1000, 100


def run(context):
    flip_directory.BIN = context.programs
    os.environ["TMPDIR"] = str(context.scratch_directory)
    flips.tempfile.tempdir = None  # read TMPDIR again
    count = QUICK_FLIPS if context.is_quick else FLIPS
    try:
        figures, _ = flips.run(count, SEED, context.work_directory / "fathom-flips-failures")
    except (AssertionError, OSError, flip_directory.Ended) as failure:
        raise PartFailed(str(failure)) from failure
    return figures
