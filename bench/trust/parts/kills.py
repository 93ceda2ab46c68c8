"""1,000 times kill -9 of a server under load, and 200 times with --durability os (tests/crash_test.py): spans that are missing or
doubled afterwards."""

import os
import subprocess
import sys

from bench_trust import ROOT, PartFailed

FIGURES = ["trust.kills_silent_losses", "trust.kills_doubled"]
TARGETS = ["fathom-server", "fathom-agent", "fathom"]
KILLS, QUICK_KILLS = 1000, 20


def run(context):
    kills = QUICK_KILLS if context.is_quick else KILLS
    environment = dict(os.environ, FATHOM_CRASHES=str(kills), FATHOM_BIN=str(context.programs),
                       TMPDIR=str(context.work_directory))
    command = [sys.executable, "-B", str(ROOT / "tests" / "crash_test.py")]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    fault = done.stdout if done.returncode != 0 else ""
    is_missing = any(words in fault for words in ("are missing", "is missing"))
    is_doubled = "are doubled" in fault
    if fault and not is_missing and not is_doubled:
        raise PartFailed("tests/crash_test.py failed:\n" + done.stdout[-2000:])
    # Each of its tests ends with the first trace that is wrong.
    return {"trust.kills": kills, "trust.kills_silent_losses": int(is_missing), "trust.kills_doubled": int(is_doubled)}
