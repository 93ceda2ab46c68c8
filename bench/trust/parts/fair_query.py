"""A trace by id, while four clients ask the most expensive queries (bench/trust/fair_query.h)."""

import json
import subprocess
import tempfile

from bench_trust import PartFailed

FIGURES = ["trust.fair_query_ms_p99"]
TARGETS = ["trust-fair-query", "fathom-server"]
SPANS = 10_000_000
QUICK_SPANS = 1_000_000


def run(context):
    with tempfile.NamedTemporaryFile(suffix=".json") as output:
        spans = QUICK_SPANS if context.is_quick else SPANS
        command = [context.programs / "trust-fair-query", "--spans", spans, "--json", output.name, "--work-directory",
                   context.work_directory]
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise PartFailed(f"trust-fair-query ended with status {done.returncode}")
        return json.load(output)["figures"]
