"""Steps of the wall clock and boots of the host: a server with the default retention drops nothing because of them.

The wall clock and the boot id are those of a preloaded library (testing/shifted_clock.c).
"""

import http.client
import os
import pathlib
import subprocess
import tempfile
import time
import unittest
from unittest import mock

from harness import otlp
from harness.fleet import SHIFTED_CLOCK
from harness.main import main
from harness.server import BIN, PATIENCE_S, Server, until
from snapshot_share_test import Snapshot

NANO = 1_000_000_000
EIGHT_DAYS = 8 * 86400 * NANO
STEP_AFTER_S = 7
RETENTION_INTERVAL_S = 10
PAUSED = 'fathom_retention_paused{by="age"}'
STEPS = "fathom_clock_steps_total"
DROPPED = ('fathom_dropped_spans_total{reason="age"}', 'fathom_dropped_captures_total{reason="age"}',
           'fathom_snapshots_dropped_total{reason="age"}', "fathom_snapshot_images_dropped_total")


def upload(server, path, content):
    connection = http.client.HTTPConnection(server.http, timeout=PATIENCE_S)
    connection.request("PUT", f"{path}/bytes?offset=0&total={len(content)}", content)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status == 200, text


class Kept:
    """A span, a capture and a snapshot with its image, sent to a server."""

    def __init__(self, server, number):
        self.span = otlp.trace_id()
        status, _, _ = otlp.post(server.otlp_http, otlp.json.dumps(
            otlp.request("clock", [otlp.span(self.span, "tick", 1_000_000)])).encode())
        assert status == 200, status
        environment = {**os.environ, "FATHOM_AGENT_SOCKET": server.agent_socket, "OTEL_SERVICE_NAME": "clock"}
        environment.pop("LD_PRELOAD", None)
        writer = subprocess.run([str(BIN / "capture_writer")], input="burst 1000\n", capture_output=True, text=True,
                                env=environment, timeout=PATIENCE_S, check=True)
        self.captured = writer.stdout.split()[0]
        self.snapshot = Snapshot(number)
        upload(server, self.snapshot.path, self.snapshot.bytes)
        upload(server, self.snapshot.image_path, self.snapshot.image)
        until(lambda: all(self.found(server)), f"what was sent is found, {self.found(server)}")

    def found(self, server):
        return (server.trace(self.span) is not None,
                len(server.ask("/api/v1/captures", {"trace_id": self.captured})["captures"]) > 0,
                any(row["id"] == self.snapshot.id for row in server.ask("/api/v1/snapshots")["snapshots"]),
                pathlib.Path(server.data, "server-snapshots/images", self.snapshot.image_name).exists())


class Clocks(unittest.TestCase):
    def setUp(self):
        place = self.enterContext(tempfile.TemporaryDirectory(prefix="fathom-test-"))
        self.data = pathlib.Path(place, "data")
        self.boot_id = pathlib.Path(place, "boot-id")
        self.boot_id.write_text("11111111-1111-4111-8111-111111111111\n", encoding="ascii")

    def server(self, **shift):
        variables = {"SHIFT_" + name.upper(): str(value) for name, value in shift.items()}
        variables |= {"LD_PRELOAD": SHIFTED_CLOCK, "SHIFT_BOOT_ID": str(self.boot_id),
                      "SHIFT_FROM_NANO": str(time.monotonic_ns())}
        with mock.patch.dict(os.environ, variables):
            return self.enterContext(Server(data=self.data))

    def all_kept(self, server, *kept):
        for one in kept:
            self.assertEqual(one.found(server), (True, True, True, True))
        metrics = server.metrics()
        self.assertEqual({name: metrics[name] for name in DROPPED}, dict.fromkeys(DROPPED, 0))

    def test_nothing_is_dropped_by_a_step_or_a_boot(self):
        server = self.server(step_nano=EIGHT_DAYS, step_after_nano=STEP_AFTER_S * NANO)
        first = Kept(server, 1)
        self.assertEqual(server.metrics()[STEPS], 0, "this machine was too slow to store anything before the step")
        until(lambda: server.metrics()[STEPS] == 1, "the step is seen")
        time.sleep(RETENTION_INTERVAL_S + 1)
        second = Kept(server, 2)  # with each snapshot that arrives, retention looks at all of them
        self.all_kept(server, first, second)
        self.assertIn("the wall clock was stepped by +8 d", server.log_text())
        self.assertEqual(server.metrics()[PAUSED], 0)
        server.stop()
        self.restarted_in_this_boot(first, second)
        self.rebooted(first, second)

    # Retention begins with the start.
    def restarted_in_this_boot(self, *kept):
        server = self.server(nano=-EIGHT_DAYS)
        self.all_kept(server, *kept)
        self.assertEqual(server.metrics()[PAUSED], 0)
        server.stop()

    def rebooted(self, *kept):
        self.boot_id.write_text("22222222-2222-4222-8222-222222222222\n", encoding="ascii")
        server = self.server(nano=3 * EIGHT_DAYS)
        fresh = Kept(server, 3)
        self.all_kept(server, *kept, fresh)
        self.assertEqual(server.metrics()[PAUSED], 1)
        log = server.log_text()
        self.assertIn("retention by age is paused", log)
        self.assertIn(f"touch {self.data}/accept-clock", log)
        pathlib.Path(self.data, "accept-clock").touch()
        until(lambda: server.metrics()[PAUSED] == 0, "the clock is accepted")
        until(lambda: not any(one.found(server)[1] for one in kept), "captures from before the time off are dropped")
        self.assertEqual(fresh.found(server), (True, True, True, True))


if __name__ == "__main__":
    main()
