"""Traces that are tiny on disk and huge as text: what a server takes to answer stays within --query-bytes, and a trace
whose text is larger than that can be read to its end.
"""

import http.client
import json
import os
import pathlib
import unittest

from harness import otlp
from harness.main import main
from harness.server import Server, until

QUERY_BYTES = 64 << 20
# What was charged, half as much again, and what does not grow with the data.
MOST_BYTES = QUERY_BYTES * 3 // 2 + (24 << 20)
SPANS = 12_000
SPANS_PER_REQUEST = 300
TARGETS = ["/api/v1/traces/{trace}", "/api/v1/traces/{trace}/timeline", "/api/v1/slowest?limit=1000&since=1h",
           "/api/v1/slowest?limit=1000&since=1h&by=span&where=blob!=x", "/api/v1/attributes?since=1h",
           "/api/v1/attributes/blob/values?since=1h&limit=1000",
           "/api/v1/attributes/blob/values?since=1h&limit=1000&service=hostile", "/api/v1/heatmap?since=1h&where=blob!=x",
           "/api/v1/differences?since=1h&min_duration=1ms", "/api/v1/differences?since=1h&min_duration=1ms&within=trace",
           "/api/v1/graph?since=1h", "/api/v1/operations?since=1h", "/api/v1/services?since=1h", "/api/v1/latency?since=1h"]

# The sanitizer would keep 256 MiB of freed memory, which nothing is charged for.
os.environ["ASAN_OPTIONS"] = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=0",
                                                    "thread_local_quarantine_size_kb=0"]))


def peak_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def forget_peak(pid):
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * 4096


class QueryMemory(unittest.TestCase):
    def read_slowly(self, server, target):
        """The status and the size of an answer that is never held whole here."""
        connection = http.client.HTTPConnection(server.http, timeout=120)
        connection.request("GET", target)
        answer = connection.getresponse()
        size = 0
        while piece := answer.read(1 << 20):
            size += len(piece)
        connection.close()
        return answer.status, size

    def fill(self, server, text_of):
        trace = otlp.trace_id()
        for first in range(0, SPANS, SPANS_PER_REQUEST):
            spans = [otlp.span(trace, "op", 2_000_000, blob=text_of(number))
                     for number in range(first, first + SPANS_PER_REQUEST)]
            status, _, _ = otlp.post(server.otlp_http, json.dumps(otlp.request("hostile", spans)).encode())
            self.assertEqual(status, 200)
        return trace

    def wait_until_sealed(self, server):
        """Sealing takes memory of its own; it ends when less than a segment is left."""
        def is_sealed():
            return server.ask("/api/v1/status")["store"]["memory_bytes"] < 80 << 20
        until(is_sealed, "full segments are sealed")

    def ask_all(self, server, trace):
        pid = server.pid()
        for target in TARGETS:
            with self.subTest(target=target):
                forget_peak(pid)
                before = resident_bytes(pid)
                status, _ = self.read_slowly(server, target.format(trace=trace))
                self.assertIn(status, (200, 413))
                self.assertLess(peak_bytes(pid) - before, MOST_BYTES)

    def read_pages(self, server, trace):
        ids, cursor, pages = set(), "", 0
        while pages == 0 or cursor:
            page = server.ask(f"/api/v1/traces/{trace}?limit=700&cursor={cursor}")
            self.assertTrue(page["oversized"])
            self.assertEqual(page["spans_at_most"], SPANS)
            self.assertTrue(ids.isdisjoint(span["span_id"] for span in page["spans"]))
            ids |= {span["span_id"] for span in page["spans"]}
            cursor, pages = page["next_cursor"], pages + 1
        self.assertEqual(len(ids), SPANS)
        self.assertEqual(pages, -(-SPANS // 700))

    def test_distinct_long_values(self):
        """190 MiB of values that compress well: most questions are refused, at no more than their budget; the trace
        comes in pages."""
        with Server(arguments=["--query-bytes", f"{QUERY_BYTES >> 20}MiB"]) as server:
            trace = self.fill(server, lambda number: "v" * 16_000 + str(number))
            self.wait_until_sealed(server)
            self.ask_all(server, trace)
            forget_peak(server.pid())
            before = resident_bytes(server.pid())
            self.read_pages(server, trace)
            self.assertLess(peak_bytes(server.pid()) - before, MOST_BYTES)

    def test_a_text_larger_than_the_budget_is_read_to_its_end(self):
        """One value of 16 KB that all spans share: little to hold, 190 MiB of text."""
        with Server(arguments=["--query-bytes", f"{QUERY_BYTES >> 20}MiB"]) as server:
            trace = self.fill(server, lambda number: "v" * 16_000)
            until(server.ready, "the server is ready")
            forget_peak(server.pid())
            before = resident_bytes(server.pid())
            status, size = self.read_slowly(server, f"/api/v1/traces/{trace}")
            self.assertEqual(status, 200)
            self.assertGreater(size, SPANS * 16_000)
            self.assertLess(peak_bytes(server.pid()) - before, MOST_BYTES)
            self.ask_all(server, trace)


if __name__ == "__main__":
    main()
