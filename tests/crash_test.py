"""kill -9 under load: no acknowledged span is missing, none is doubled, and the server comes back on the same ports.

FATHOM_CRASHES says how often (50; 4 where a sanitizer makes each of them slow, unless FATHOM_TEST_FULL is set). A fifth as
many, at least two, are added with --durability os, which promises the same while the host runs. Writers send
the same request until it is acknowledged, as exporters do, so that a request whose acknowledgement died on the way is sent
twice.
"""

import json
import os
import random
import signal
import threading
import time
import unittest

from harness import node, otlp
from harness.main import main
from harness.server import Server, until

SLOW = os.environ.get("FATHOM_SANITIZED") and not os.environ.get("FATHOM_TEST_FULL")
CRASHES = int(os.environ.get("FATHOM_CRASHES", "4" if SLOW else "50"))
CRASHES_WITHOUT_SYNC = max(2, CRASHES // 5)
SPANS = 20
WRITERS = 3


class Writer(threading.Thread):
    """Sends traces of SPANS spans by HTTP until told to stop; remembers those that were acknowledged."""

    def __init__(self, address):
        super().__init__()
        self.address = address
        self.acknowledged = []
        self.again = 0
        self.fault = None
        self.stopping = threading.Event()

    def run(self):
        while not self.stopping.is_set() and not self.fault:
            trace = otlp.trace_id()
            root = otlp.span(trace, "root", 2_000_000)
            children = [otlp.span(trace, "child", 1_000_000, parent=root["spanId"], number=number)
                        for number in range(SPANS - 1)]
            if self.deliver(json.dumps(otlp.request("writer", [root, *children])).encode()):
                self.acknowledged.append(trace)
            # Each trace is asked for twice at the end; this many requests are under way at any moment all the same.
            self.stopping.wait(0.004)

    def deliver(self, body):
        while True:
            status = otlp.try_send(self.address, body)
            if status == 200:
                return True
            if status and status not in otlp.RETRYABLE:
                self.fault = f"a good request was refused with {status}"
                return False
            if self.stopping.is_set():
                return False
            self.again += 1
            self.stopping.wait(0.01)


class Streamer:
    """The same by gRPC, with OpenTelemetry's exporter."""

    def __init__(self, address):
        self.process = node.start("stream.cjs", address, str(SPANS))
        self.acknowledged = []
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.acknowledged.append(line.strip())

    def stop(self):
        self.process.stdin.close()
        self.reader.join()
        self.process.stdout.close()
        return self.process.wait()


class Crash(unittest.TestCase):
    def setUp(self):
        self.seed = random.SystemRandom().randrange(2**32)
        self.random = random.Random(self.seed)
        print(f"seed {self.seed}", flush=True)

    def crash(self, server, number):
        """Kills the server at a random moment after it is ready; each fourth one not before it is taken for healthy, or
        the supervisor's pauses, which double up to 5 s, would be most of this test's time."""
        earliest, latest = (1.0, 1.2) if number % 4 == 3 else (0.02, 1.0)
        time.sleep(self.random.uniform(earliest, latest))  # the random moment is what is tested; nothing waits for it
        self.kill(server)

    def kill(self, server):
        """kill -9, and then waits for the next server."""
        victim = server.pid()
        self.assertIsNotNone(victim, server.log_text())
        os.kill(victim, signal.SIGKILL)
        until(lambda: server.pid() not in (None, victim) and server.ready(), "a new server on the same port")

    def verify(self, server, traces):
        for trace_id, trace in zip(traces, server.traces(traces)):
            self.assertIsNotNone(trace, f"the acknowledged trace {trace_id} is missing (seed {self.seed})")
            ids = [span["span_id"] for span in trace["spans"]]
            self.assertEqual(len(set(ids)), SPANS, f"spans of trace {trace_id} are missing (seed {self.seed})")
            self.assertEqual(len(ids), SPANS, f"spans of trace {trace_id} are doubled (seed {self.seed})")
            self.assertIs(trace["complete"], True)

    def await_more(self, streamer):
        if streamer:
            before = len(streamer.acknowledged)
            until(lambda: len(streamer.acknowledged) > before, "acknowledgements by gRPC")

    def load_and_crash(self, server, crashes):
        writers = [Writer(server.otlp_http) for _ in range(WRITERS)]
        streamer = None if node.missing() else Streamer(server.otlp_grpc)
        for writer in writers:
            writer.start()
        self.await_more(streamer)
        for number in range(crashes):
            before = sum(len(writer.acknowledged) for writer in writers)
            self.crash(server, number)
            until(lambda seen=before: sum(len(writer.acknowledged) for writer in writers) > seen,
                  "acknowledgements after the crash")
        self.await_more(streamer)  # a gRPC channel takes its time to come back
        for writer in writers:
            writer.stopping.set()
        for writer in writers:
            writer.join()
            self.assertIsNone(writer.fault)
        traces = [trace for writer in writers for trace in writer.acknowledged]
        if streamer:
            self.assertEqual(streamer.stop(), 0)
            traces += streamer.acknowledged
        print(f"{crashes} crashes, {len(traces)} traces acknowledged, {sum(writer.again for writer in writers)} requests sent again")
        return traces

    def check_crashes(self, crashes, *arguments):
        with Server(arguments=arguments) as server:
            addresses = server.addresses
            traces = self.load_and_crash(server, crashes)
            self.verify(server, traces)
            self.assertEqual(server.stop(), 0)
            server.wanted = addresses  # a clean restart on the same data tells the same; a part of it shows that
            server.start()
            self.verify(server, self.random.sample(traces, min(len(traces), 2000)))

    def test_acknowledged_is_stored_once(self):
        self.check_crashes(CRASHES)

    def test_acknowledged_without_sync_is_stored_once(self):
        self.check_crashes(CRASHES_WITHOUT_SYNC, "--durability", "os")

    def test_a_request_sent_twice_is_stored_once(self):
        trace = otlp.trace_id()
        body = json.dumps(otlp.request("twice", [otlp.span(trace, "twice", 1000) for _ in range(SPANS)])).encode()
        with Server() as server:
            for _ in range(2):
                self.assertEqual(otlp.try_send(server.otlp_http, body), 200)
            self.verify(server, [trace])
            self.kill(server)  # what was stored before a crash is known after it
            self.assertEqual(otlp.try_send(server.otlp_http, body), 200)
            self.verify(server, [trace])
            self.assertEqual(server.metrics()["fathom_duplicate_batches_total"], 1)
            services = server.ask("/api/v1/services", {"since": "1h"})
            self.assertIn(f'"spans": {SPANS}', json.dumps(services))


if __name__ == "__main__":
    main()
