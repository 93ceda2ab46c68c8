"""fathom store verify and repair, with a real server: a live directory is rejected, damage is found, and a repaired directory
answers."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import otlp
from harness.logs import flip_batch_of
from harness.main import main
from harness.server import BIN, Server, cli, until

DAMAGED, LOCAL_FAILURE, USAGE = 7, 5, 2
BATCHES = 30


def tree(directory):
    """What must not change: names, sizes, times and contents."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
            for path in sorted(pathlib.Path(directory).rglob("*"))}


class Store(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.data = self.directory / "data"
        self.traces = []
        with Server(data=self.data) as server:
            for number in range(BATCHES):
                trace = otlp.trace_id()
                spans = [otlp.span(trace, "work", 1_000_000 + number)]
                status, _, _ = otlp.post(server.otlp_http, json.dumps(otlp.request("shop", spans)).encode())
                self.assertEqual(status, 200)
                self.traces.append(trace)

    def stored(self, server):
        return [trace for trace, found in zip(self.traces, server.traces(self.traces)) if found]

    def test_an_intact_directory(self):
        before = tree(self.data)
        outcome = cli("store", "verify", str(self.data), check=0)
        self.assertIn("is intact", outcome.stdout)
        report = json.loads(cli("store", "verify", str(self.data), "--json", check=0).stdout)
        self.assertEqual((report["intact"], report["damages"]), (True, []))
        self.assertEqual({part["part"]: part["checked"] for part in report["parts"]}["stage"], BATCHES)
        self.assertEqual(tree(self.data), before)

    def test_a_live_directory_is_rejected(self):
        with Server(data=self.data) as server:
            for words in (("verify", str(self.data)), ("repair", str(self.data), str(self.directory / "new"))):
                outcome = cli("store", *words, check=LOCAL_FAILURE)
                self.assertIn(f"in use by process {server.pid()}", outcome.stderr)
        self.assertFalse((self.directory / "new").exists())

    def test_a_server_waits_for_verification(self):
        # The tool's own lock, held while the server tries to start.
        holder = subprocess.Popen(["python3", "-c", "import fcntl, sys; file = open(sys.argv[1]);"
                                   "fcntl.lockf(file, fcntl.LOCK_SH); print('locked', flush=True); sys.stdin.read()",
                                   self.data / "store/LOCK"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(holder.stdout.readline(), "locked\n")
        outcome = subprocess.run([BIN / "fathom-server", "--data", self.data, "--http", "127.0.0.1:0", "--otlp-grpc",
                                  "127.0.0.1:0", "--otlp-http", "127.0.0.1:0"], capture_output=True, text=True, check=False,
                                 timeout=60)
        holder.communicate("")
        self.assertNotEqual(outcome.returncode, 0)
        self.assertIn(f"in use by process {holder.pid}", outcome.stderr)

    def test_damage_is_found_and_the_rest_is_salvaged(self):
        flip_batch_of(self.data, self.traces[10])
        before = tree(self.data)
        outcome = cli("store", "verify", str(self.data), check=DAMAGED)
        self.assertIn("damaged: logs:", outcome.stdout)
        new = self.directory / "new"
        outcome = cli("store", "repair", str(self.data), str(new), check=DAMAGED)
        self.assertRegex(outcome.stderr, r"needs at most [0-9.]+ MiB; [0-9.]+ \w+ are free")
        self.assertIn("1 loss; the new server reports it", outcome.stdout)
        self.assertEqual(tree(self.data), before, "the source is not changed")
        cli("store", "verify", str(new), check=0)
        again = cli("store", "repair", str(self.data), str(new), check=DAMAGED)
        self.assertIn("was repaired before", again.stderr)
        self.assertIn("something was lost", again.stderr)
        with Server(data=new) as server:
            self.assertEqual(self.stored(server), [trace for trace in self.traces if trace != self.traces[10]])

    def test_a_repaired_directory_is_for_one_source(self):
        new, other = self.directory / "new", self.directory / "other"
        shutil.copytree(self.data, other)
        cli("store", "repair", str(self.data), str(new), check=0)
        again = cli("store", "repair", str(self.data), str(new), check=0)
        self.assertIn("was repaired before and is left as it is; nothing was lost", again.stderr)
        before = tree(new)
        outcome = cli("store", "repair", str(other), str(new), check=LOCAL_FAILURE)
        self.assertIn(f"was repaired from {self.data.resolve()}, not from {other.resolve()}; choose another, empty NEW_DIR",
                      outcome.stderr)
        self.assertEqual(tree(new), before)

    def test_a_lost_manifest_costs_nothing(self):
        (self.data / "store/CURRENT").unlink()
        outcome = subprocess.run([BIN / "fathom-server", "--data", self.data, "--http", "127.0.0.1:0", "--otlp-grpc",
                                  "127.0.0.1:0", "--otlp-http", "127.0.0.1:0"], capture_output=True, text=True, check=False,
                                 timeout=60)
        self.assertNotEqual(outcome.returncode, 0)
        self.assertIn(f"fathom store repair {self.data} NEW_DIR", outcome.stderr)
        cli("store", "verify", str(self.data), check=DAMAGED)
        new = self.directory / "new"
        cli("store", "repair", str(self.data), str(new), check=0)
        with Server(data=new) as server:
            self.assertEqual(self.stored(server), self.traces)
            until(server.ready, "the repaired server is ready")

    def test_a_wrong_directory(self):
        outcome = cli("store", "verify", str(self.directory / "none"), check=LOCAL_FAILURE)
        self.assertIn("is not a data directory", outcome.stderr)
        cli("store", "verify", check=USAGE)
        shutil.copytree(self.data, self.directory / "other")
        outcome = cli("store", "repair", str(self.data), str(self.directory / "other"), check=LOCAL_FAILURE)
        self.assertIn("is not empty", outcome.stderr)


if __name__ == "__main__":
    main()
