"""A full disk: writes are refused as retryable, queries go on, and when there is room again, so does everything.

The data directory lies on a tmpfs of 128 MiB in a mount namespace of the test's own (unshare -rm), and in two tests on smaller ones.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from harness import otlp
from harness.daemon import FREE_PORTS, Daemon
from harness.main import SKIPPED, main
from harness.server import PATIENCE_S, Server, until

INSIDE = "FATHOM_TEST_SMALL_DISK"
FILLER_BYTES = 92 << 20
INODES = 2048  # of the disk that has few
REJECTED_S = 5  # a disk on which every write was rejected for so long stays full
TO_BE_STARTED_AGAIN = 5  # the exit status after a fault that may pass


def enter_namespace():
    """Runs this file again inside a namespace with a small disk, and ends with that run's status."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        print("SKIPPED: this machine does not permit mount namespaces (unshare -rm), so no disk can be filled up")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="fathom-disk-") as directory:
        script = 'mount -t tmpfs -o size=128m tmpfs "$1" && shift && exec "$@"'
        inner = ["sh", "-c", script, "sh", directory, sys.executable, "-B", __file__]
        environment = {**os.environ, INSIDE: directory}
        sys.exit(subprocess.run(["unshare", "-rm", *inner], env=environment, check=False).returncode)


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.disk = pathlib.Path(os.environ[INSIDE])
        for left in self.disk.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        self.filler = self.disk / "filler"
        with open(self.filler, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, FILLER_BYTES)

    def send(self, server):
        """One request of 200 spans that do not compress; (status, headers, its trace)."""
        trace = otlp.trace_id()
        spans = [otlp.span(trace, "write", 1_000_000, noise=secrets.token_hex(1000)) for _ in range(200)]
        body = otlp.json.dumps(otlp.request("writer", spans)).encode()
        status, headers, _ = otlp.post(server.otlp_http, body)
        return status, headers, trace

    def fill(self, server):
        """Writes until a write is refused; what was acknowledged before, and the refusal's headers."""
        stored = []
        for _ in range(2000):
            status, headers, trace = self.send(server)
            if status != 200:
                self.assertEqual(status, 503)
                return stored, headers
            stored.append(trace)
        raise AssertionError("the disk never became full")

    def verify(self, server, traces):
        for trace_id in traces:
            trace = server.trace(trace_id)
            self.assertIsNotNone(trace, f"the acknowledged trace {trace_id} is missing")
            self.assertEqual(len({span["span_id"] for span in trace["spans"]}), 200)
            self.assertEqual(len(trace["spans"]), 200)

    def refusals(self, server):
        return sum(value for name, value in server.metrics().items() if name.startswith("fathom_store_refused_total"))

    def test_full_and_room_again(self):
        with Server(self.disk / "data") as server:
            pid = server.pid()
            stored, headers = self.fill(server)
            print(f"full after {len(stored)} requests", flush=True)
            self.assertGreater(len(stored), 0)
            self.assertIn("Retry-After", headers)
            until(lambda: not server.ready(), "/readyz says that nothing can be written")
            self.assertRegex(server.log_text(), rf"the disk of {self.disk}/data\S* is nearly full \(\d+ MiB free, .*make some, or keep less: --retention-size")
            self.verify(server, stored)
            rows = server.ask("/api/v1/slowest", {"service": "writer", "since": "1h", "limit": 20})["rows"]
            self.assertEqual(len(rows), min(20, len(stored)))

            self.filler.unlink()

            def accepted():
                status, _, trace = self.send(server)
                self.assertIn(status, (200, 503))
                return [trace] if status == 200 else None

            stored += until(accepted, "a write after there was room again", 60)
            until(server.ready, "/readyz says that it can be written")
            self.verify(server, stored)
            self.assertEqual(server.pid(), pid, "the server was restarted on the way")
            self.assertGreater(self.refusals(server), 0)
            self.assertEqual(server.stop(), 0)
            server.start()
            self.verify(server, stored)

    def fill_to_the_last_byte(self):
        """What another program does: beyond the server's reserve, until nothing is free. A second call fills what was freed since."""
        with open(self.disk / "greedy", "ab", buffering=0) as file:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass

    def test_a_start_on_a_full_disk(self):
        self.filler.unlink()
        with Server(self.disk / "data") as server:
            stored = []
            for _ in range(20):
                status, _, trace = self.send(server)
                self.assertEqual(status, 200)
                stored.append(trace)
            until((self.disk / "data/ballast").exists, "what is thrown off when the disk is full")
            self.assertEqual(server.stop(), 0)
            self.fill_to_the_last_byte()
            server.start()
            self.verify(server, stored)
            self.fill_until_writes_are_rejected(server)
            (self.disk / "greedy").unlink()
            until(lambda: self.send(server)[0] == 200, "a write after there was room again", 60)
            self.verify(server, stored)

    def fill_until_writes_are_rejected(self, server):
        """Sealing may free space while another program fills the disk."""

        def rejected():
            self.fill_to_the_last_byte()
            status, _, _ = self.send(server)
            self.assertIn(status, (200, 503))
            return status == 503

        until(rejected, "a rejected write")

    def mount_with_few_inodes(self):
        self.filler.unlink()
        disk = self.disk / "few"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=64m,nr_inodes={INODES}", "tmpfs", str(disk)], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=True)
        return disk

    def take_all_inodes(self, disk):
        """What another program does: empty files, until there can be none. Returns them."""
        taken = []
        with contextlib.suppress(OSError):
            for number in range(INODES):
                taken.append(disk / f"taken-{number}")
                taken[-1].touch()
        return taken

    def test_no_inodes_are_left(self):
        disk = self.mount_with_few_inodes()
        with Server(disk / "data") as server:
            pid = server.pid()
            _, _, stored = self.send(server)
            taken = self.take_all_inodes(disk)
            until(lambda: self.send(server)[0] == 503, "a rejected write", 10)
            self.assertRegex(server.log_text(), r"is nearly full \(0 free inodes; the server keeps \d+\)")
            self.verify(server, [stored])
            for file in taken:
                file.unlink(missing_ok=True)
            until(lambda: self.send(server)[0] == 200, "a write after there were inodes again", 60)
            self.verify(server, [stored])
            self.assertEqual(server.pid(), pid, "the server was restarted on the way")

    def fill_for_good(self, server):
        """Writes until every write was rejected for a while, whatever space sealing has freed; what was acknowledged."""
        stored, rejected_since = [], None
        end = time.monotonic() + PATIENCE_S
        while rejected_since is None or time.monotonic() - rejected_since < REJECTED_S:
            self.assertLess(time.monotonic(), end, "the disk never became full")
            status, _, trace = self.send(server)
            self.assertIn(status, (200, 503))
            if status == 200:
                stored.append(trace)
                rejected_since = None
            elif rejected_since is None:
                rejected_since = time.monotonic()
        return stored

    def assert_rocksdb_had_space(self, server):
        """Neither the server's log nor RocksDB's own reports that RocksDB was short of space. Sealing may be; it is repeated."""
        logs = pathlib.Path(server.data, "store").glob("LOG*")
        for text in (server.log_text(), *(log.read_text(errors="replace") for log in logs)):
            lines = [line for line in text.splitlines() if "sealing failed, trying again" not in line]
            self.assertNotRegex("\n".join(lines), "(?i)no space left|failed under RocksDB|has stopped RocksDB")

    def test_a_disk_that_only_the_server_fills(self):
        self.filler.unlink()
        with Server(self.disk / "data") as server:
            pid = server.pid()
            stored = self.fill_for_good(server)
            print(f"full after {len(stored)} requests", flush=True)
            self.assertRegex(server.log_text(), r"is nearly full \(\d+ MiB free, of which --reserve-disk keeps 16\)")
            until(lambda: not server.ready(), "/readyz says that nothing can be written")
            self.verify(server, stored)
            self.assertEqual(server.pid(), pid, "the server was restarted on the way")
            self.assertEqual(server.stop(), 0)
            self.assert_rocksdb_had_space(server)
            server.start()
            self.verify(server, stored)
            self.assert_rocksdb_had_space(server)


class KeepLess(FullDisk):
    """The documented fix if no file can be deleted: keep less, while the server runs or from its next start on."""

    test_full_and_room_again = test_a_start_on_a_full_disk = test_a_disk_that_only_the_server_fills = None  # of the other class
    test_no_inodes_are_left = None
    MUCH = {"retention-size": "48MiB"}
    SMALLER, YOUNGER = {"retention-size": "16MiB"}, {"retention-age": "10s"}

    def config(self, changed):
        lines = [f"{key} = {value}\n" for key, value in {**self.MUCH, **changed}.items()]
        return f"{FREE_PORTS}data = {self.disk}/data\n" + "".join(lines)

    def store_much(self, server):
        """Several partitions, most of them sealed; their traces, oldest first."""
        server.otlp_http = server.addresses["otlp_http"]
        stored = []
        for _ in range(150):
            status, _, trace = self.send(server)
            self.assertEqual(status, 200)
            stored.append(trace)
        return stored

    def get(self, server, path):
        """(status, text)"""
        connection = http.client.HTTPConnection(server.addresses["http"], timeout=PATIENCE_S)
        with contextlib.closing(connection):
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()

    def dropped(self, server, reason):
        found = re.search(rf'^fathom_dropped_spans_total\{{reason="{reason}"\}} (\d+)$', self.get(server, "/metrics")[1], re.M)
        return int(found.group(1))

    def is_stored(self, server, trace):
        status, _ = self.get(server, f"/api/v1/traces/{trace}")
        self.assertIn(status, (200, 404))
        return status == 200

    def write(self, server):
        """The trace of a request, or nothing if it was rejected."""
        status, _, trace = self.send(server)
        return trace if status == 200 else None

    def free_bytes(self):
        disk = os.statvfs(self.disk)
        return disk.f_bavail * disk.f_frsize

    def supervised(self, server, condition):
        """The condition's outcome. If the disk became full while RocksDB wrote a file, the server ends in order to be started again,
        here as by systemd."""
        try:
            return condition()
        except (OSError, http.client.HTTPException):
            self.assertEqual(server.process.wait(PATIENCE_S), TO_BE_STARTED_AGAIN)
            print("started again", flush=True)
            server.__enter__()
            server.otlp_http = server.addresses["otlp_http"]
            return None

    def wait_for_room(self, server, reason, oldest):
        """The trace of a write that is accepted after the oldest trace was dropped."""
        process = server.process
        until(lambda: self.supervised(server, lambda: not self.is_stored(server, oldest)), "retention drops the oldest trace")
        fresh = until(lambda: self.supervised(server, lambda: self.write(server)), "a write after retention made room", 60)
        if server.process is process:
            self.assertGreater(self.dropped(server, reason), 0)
        self.assertGreater(self.free_bytes(), 4 << 20)
        return fresh

    def has_smaller(self, server, stored):
        """What was received first is gone, what was received last is not, and writes are taken."""
        self.wait_for_room(server, "size", stored[0])
        self.assertTrue(self.is_stored(server, stored[-1]))

    def has_younger(self, server, stored):
        """Writes are accepted, and every earlier trace is gone."""
        fresh = self.wait_for_room(server, "age", stored[0])
        self.assertTrue(self.is_stored(server, fresh))
        until(lambda: not any(self.is_stored(server, trace) for trace in stored), "every earlier trace is dropped")

    def keep_less_while_the_server_runs(self, changed, has_room):
        self.filler.unlink()
        with Daemon("fathom-server", self.config({})) as server:
            stored = self.store_much(server)
            until((self.disk / "data/ballast").exists, "the ballast")
            self.fill_until_writes_are_rejected(server)
            server.config.write_text(self.config(changed), encoding="utf-8")
            server.hang_up()
            has_room(server, stored)
            self.assertEqual(self.get(server, "/readyz")[0], 200)

    def keep_less_from_the_next_start(self, changed, has_room):
        self.filler.unlink()
        with Daemon("fathom-server", self.config({})) as server:
            stored = self.store_much(server)
            until((self.disk / "data/ballast").exists, "the ballast")
            self.fill_to_the_last_byte()
        with Daemon("fathom-server", self.config(changed)) as server:
            server.otlp_http = server.addresses["otlp_http"]
            has_room(server, stored)

    def test_a_smaller_size_while_the_server_runs(self):
        self.keep_less_while_the_server_runs(self.SMALLER, self.has_smaller)

    def test_a_smaller_size_from_the_next_start(self):
        self.keep_less_from_the_next_start(self.SMALLER, self.has_smaller)

    def test_a_lower_age_while_the_server_runs(self):
        self.keep_less_while_the_server_runs(self.YOUNGER, self.has_younger)

    def test_a_lower_age_from_the_next_start(self):
        self.keep_less_from_the_next_start(self.YOUNGER, self.has_younger)


if __name__ == "__main__":
    if INSIDE in os.environ:
        main()
    enter_namespace()
