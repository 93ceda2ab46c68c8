"""An exporter that waits for each acknowledgement: its step of ./dev bench ingest."""

import json
import subprocess
import tempfile

from bench_trust import PartFailed

FIGURES = ["ingest.one_exporter_ack_over_fdatasync"]
TARGETS = ["bench-ingest", "fathom-server"]


def run(context):
    with tempfile.NamedTemporaryFile(suffix=".json") as output:
        command = [context.programs / "bench-ingest", "--steps", "one", "--json", output.name,
                   "--work-directory", context.work_directory]
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise PartFailed(f"bench-ingest ended with status {done.returncode}")
        figures = json.load(output)["figures"]
    return {key: figure for key, figure in figures.items() if "one_exporter" in key}
