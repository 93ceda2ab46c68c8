"""1,000 times kill -9 of a server under load (tests/crash_test.py): spans that are missing or doubled afterwards."""

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
    if done.returncode != 0 and not any(words in done.stdout for words in ("are missing", "is missing", "are doubled")):
        raise PartFailed("tests/crash_test.py failed:\n" + done.stdout[-2000:])
    # It ends with the first trace that is wrong.
    is_doubled = "are doubled" in done.stdout
    return {"trust.kills": kills, "trust.kills_silent_losses": int(done.returncode != 0 and not is_doubled),
            "trust.kills_doubled": int(is_doubled)}
