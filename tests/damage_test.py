"""A flipped bit in the write-ahead log costs one batch and no silence: the loss is counted, logged and marked in answers."""

import os
import pathlib
import signal
import time
import unittest

from harness import otlp
from harness.logs import flip_batch_of
from harness.main import main
from harness.server import Server, cli, until

BATCHES = 60
MINUTE_NANO = 60 * 1_000_000_000
LATE_BATCHES = 10
LATE_NANO = 30 * MINUTE_NANO


class Damage(unittest.TestCase):
    def test_a_flipped_bit_in_the_log(self):
        with Server() as server:
            traces = []
            for _ in range(BATCHES):
                traces.append(otlp.trace_id())
                otlp.send(server.otlp_http, otlp.request("payment", [otlp.span(traces[-1], "pay", 1_000_000)]))
            self.damage_log(server, traces[BATCHES // 3])

            stored = [trace for trace, found in zip(traces, server.traces(traces)) if found]
            self.assertEqual(len(stored), BATCHES - 1)
            self.assertEqual(server.metrics()["fathom_store_lost_batches_total"], 1)
            self.assertEqual(len(list(pathlib.Path(server.data, "damaged").iterdir())), 1)
            self.assertRegex(server.log_text(), r"destroyed acknowledged spans: at most 1 batch, received between \d{4}-")

            self.assertEqual(server.ask("/api/v1/slowest", {"since": "1h"})["lost_batches"]["most_batches"], 1)
            listing = cli("slowest", "--url", server.url, check=0)
            self.assertIn("damage to the server's disk destroyed at most 1 batch ", listing.stderr)

            # The server accepts what was lost when it is sent again.
            missing = (set(traces) - set(stored)).pop()
            otlp.send(server.otlp_http, otlp.request("payment", [otlp.span(missing, "pay", 1_000_000)]))
            self.assertTrue(server.trace(missing))

    def test_answers_about_spans_that_were_sent_late(self):
        with Server() as server:
            start_nano = time.time_ns() - LATE_NANO
            traces = [otlp.trace_id() for _ in range(LATE_BATCHES)]
            for number, trace in enumerate(traces):
                span = otlp.span(trace, "pay", 1_000_000, start_nano=start_nano + number * 1_000_000)
                otlp.send(server.otlp_http, otlp.request("payment", [span]))
            self.damage_log(server, traces[LATE_BATCHES // 2])

            of_their_time = {"from": start_nano - MINUTE_NANO, "to": start_nano + MINUTE_NANO}
            slowest = server.ask("/api/v1/slowest", of_their_time)
            self.assertEqual(len(slowest["rows"]), LATE_BATCHES - 1)
            self.assertEqual(slowest["lost_batches"]["most_batches"], 1)
            self.assertIn("lost_batches", server.ask("/api/v1/operations", of_their_time))
            earlier = {"from": start_nano - 2 * MINUTE_NANO, "to": start_nano - MINUTE_NANO}
            self.assertNotIn("lost_batches", server.ask("/api/v1/slowest", earlier))

    def damage_log(self, server, trace):
        """kill -9, flips a bit of the trace's batch, and lets the supervisor start the server again."""
        killed = server.pid()
        os.kill(server.process.pid, signal.SIGSTOP)
        os.kill(killed, signal.SIGKILL)
        until(lambda: server.pid() is None, "the server ends")
        flip_batch_of(server.data, trace)
        os.kill(server.process.pid, signal.SIGCONT)
        until(server.ready, "the server is back")


if __name__ == "__main__":
    main()
