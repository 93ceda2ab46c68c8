"""Truncated, oversized, malformed and random input to every port, slow and idle peers: a clear error, counted, nothing
else disturbed. After each test a good request works and the server is still the same process."""

import gzip
import json
import random
import threading
import unittest

from harness import http2, node, otlp, raw
from harness.main import main
from harness.server import Server, until

PREFACE = http2.PREFACE
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SERVICES = "/fathom.query.v1.QueryService/ListServices"
OK, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED = 0, 3, 8, 12
RESULTS = {400: "invalid", 404: "not_found", 413: "oversized", 415: "media_type"}
IDLE = 1000
LORIS_S = 60


def request_bytes():
    return json.dumps(otlp.request("good", [otlp.span(otlp.trace_id(), "good", 1000)])).encode()


def field(number, payload):
    """A length-delimited protobuf field of fewer than 128 bytes."""
    return bytes([number << 3 | 2, len(payload)]) + payload


def protobuf_request(trace=b"\x01" * 16, span=b"\x02" * 8):
    name = field(5, b"by hand")
    times = b"\x39" + (10**18).to_bytes(8, "little") + b"\x41" + (10**18 + 5).to_bytes(8, "little")
    one = field(1, trace) + field(2, span) + name + times
    return field(1, field(2, field(2, one)))


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(arguments=["--query-grpc", "127.0.0.1:0"])
        cls.enterClassContext(cls.server)

    def setUp(self):
        self.pid = self.server.pid()
        self.grpc_ports = [self.server.otlp_grpc, self.server.query_grpc, self.server.ingest]
        self.ports = [self.server.http, self.server.otlp_http, *self.grpc_ports]

    def tearDown(self):
        self.assertEqual(self.server.pid(), self.pid, "the server died on the way\n" + self.server.log_text()[-4000:])
        self.works()

    def works(self):
        """A good request is taken and found."""
        trace = otlp.trace_id()
        otlp.send(self.server.otlp_http, otlp.request("good", [otlp.span(trace, "good", 1000)]))
        until(lambda: self.server.trace(trace), "the good trace")

    def counted(self, name, label=""):
        return sum(value for full, value in self.server.metrics().items() if full.startswith(name) and label in full)

    def rises(self, work, name, label=""):
        """The work's outcome; meanwhile that counter must have counted."""
        before = self.counted(name, label)
        outcome = work()
        until(lambda: self.counted(name, label) > before, f"{name} {label} counts", 20)
        return outcome

    # ---- OTLP over HTTP ----

    def refused(self, status, body, **arguments):
        send = lambda: otlp.post(self.server.otlp_http, body, **arguments)
        got, headers, said = self.rises(send, "fathom_otlp_requests_total", f'result="{RESULTS[status]}"')
        self.assertEqual(got, status, said[:300])
        self.assertTrue(said, "an error without a word")
        return headers, said

    def test_malformed_json(self):
        good = request_bytes()
        for body in (b"", b"{", b"[]", b"nonsense", good[:-1], good + b"x", b'{"resourceSpans":7}', b"\xff\xfe",
                     b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"soon"}]}]}]}'):
            with self.subTest(body=body[:40]):
                headers, said = self.refused(400, body)
                self.assertTrue(headers["Content-Type"].startswith("application/json"))
                self.assertTrue(json.loads(said)["message"])

    def test_deeply_nested_json(self):
        deep = b'{"resourceSpans":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        self.refused(400, deep)
        inner = b'{"arrayValue":{"values":[' * 5000 + b"]}}" * 5000
        self.refused(400, b'{"resourceSpans":[{"resource":{"attributes":[{"key":"k","value":' + inner + b"}]}}]}")

    def test_truncated_protobuf(self):
        good = protobuf_request()
        status, _, _ = otlp.post(self.server.otlp_http, good, "application/x-protobuf")
        self.assertEqual(status, 200)
        for size in range(1, len(good)):
            headers, _ = self.refused(400, good[:size], content_type="application/x-protobuf")
            self.assertEqual(headers["Content-Type"], "application/x-protobuf")

    def test_random_protobuf_disturbs_nothing(self):
        generator = random.Random(7)
        for _ in range(300):
            body = generator.randbytes(generator.randrange(1, 400))
            status, _, _ = otlp.post(self.server.otlp_http, body, "application/x-protobuf")
            self.assertIn(status, (200, 400))

    def test_spans_without_proper_ids_are_rejected_and_the_rest_is_stored(self):
        trace = otlp.trace_id()
        good = otlp.span(trace, "good", 5)
        bad = [otlp.span("0" * 32, "no trace", 5), otlp.span(trace, "no span", 5, span="0" * 16),
               otlp.span("abcd", "short", 5)]
        body = json.dumps(otlp.request("partial", [good, *bad])).encode()
        send = lambda: otlp.post(self.server.otlp_http, body)
        status, _, said = self.rises(send, "fathom_rejected_spans_total", "reason=")
        partial = json.loads(said)["partialSuccess"]
        self.assertEqual((status, int(partial["rejectedSpans"])), (200, 3))
        self.assertIn("2 x trace_id must be", partial["errorMessage"])
        self.assertIn("1 x span_id must be", partial["errorMessage"])
        self.assertEqual(len(until(lambda: self.server.trace(trace), "the good span")["spans"]), 1)

    def test_wrong_types_methods_and_paths(self):
        self.refused(415, b"x", content_type="text/plain")
        self.refused(404, b"{}", path="/v1/nothing")
        self.assertEqual(raw.status_of(raw.poke(self.server.otlp_http, b"GET /v1/traces HTTP/1.1\r\nHost: localhost\r\n\r\n")), 405)
        self.refused(415, request_bytes(), Content_Encoding="brotli")

    def test_oversized(self):
        head = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        declared = lambda: raw.poke(self.server.otlp_http, head + b"Content-Length: 1000000000000\r\n\r\n", half_close=False)
        answer = self.rises(declared, "fathom_otlp_requests_total", 'result="oversized"')
        self.assertEqual(raw.status_of(answer), 413)
        self.refused(413, b" " * ((64 << 20) + 1))

    def test_gzip_that_lies(self):
        bomb = gzip.compress(b" " * (65 << 20), 1)
        self.assertLess(len(bomb), 1 << 20)
        self.refused(413, bomb, Content_Encoding="gzip")
        self.refused(400, b"this is no gzip", Content_Encoding="gzip")
        self.refused(400, gzip.compress(request_bytes())[:-9], Content_Encoding="gzip")

    # ---- the query port ----

    def test_bad_queries(self):
        for query in ("limit=x", "limit=-1", "limit=99999999999999999999", "from=never", "since=1", "by=moon",
                      "nothing=1", "where=no==value", "cursor=%00%ff", "cursor=AAAA", "min_duration=fast",
                      "from=2&to=1&since=1h", "timeout=forever"):
            with self.subTest(query=query):
                status, said = self.server.get("/api/v1/slowest?" + query)
                self.assertEqual(status, 400, said)
                self.assertTrue(json.loads(said)["error"]["message"])
        _, said = self.server.get("/api/v1/slowest?from=9999-12-31T23:59:59Z")
        self.assertIn("year 2554", json.loads(said)["error"]["message"])
        for path in ("/api/v1/traces/xyz", "/api/v1/traces/" + "0" * 32, "/api/v1/traces/" + "1" * 4000):
            status, _ = self.server.get(path)
            self.assertIn(status, (400, 404), path)

    # ---- any port ----

    def test_random_bytes_to_every_port(self):
        generator = random.Random(11)
        for address in self.ports:
            for size in (1, 9, 24, 1000, 100_000):
                answer = raw.poke(address, generator.randbytes(size))
                self.assertNotIn(raw.status_of(answer), range(200, 300))
        for start in (b"GET / HTTP/1.1\r\n", b"POST /v1/traces HTTP/1.1\r\nContent-Length: 5\r\n", PREFACE):
            for address in self.ports:
                raw.poke(address, start + generator.randbytes(5000), timeout=5)

    def test_garbage_after_the_http2_preface(self):
        generator = random.Random(13)
        huge_frame = b"\xff\xff\xff\x00\x00\x00\x00\x00\x01"
        for address in self.grpc_ports:
            for size in (9, 100, 10_000):
                raw.poke(address, PREFACE + generator.randbytes(size), timeout=5)
            raw.poke(address, PREFACE + huge_frame, timeout=5)

    def test_malformed_http(self):
        for address in (self.server.http, self.server.otlp_http):
            for head in (b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n\r\n\r\n" * 100,
                         b"GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
                         b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                         b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100_000 + b"\r\n",
                         b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n"):
                answer = raw.poke(address, head)
                self.assertNotIn(raw.status_of(answer), range(200, 300), head[:40])
        for listener in ("otlp", "query"):
            self.assertGreater(self.counted("fathom_http_refused_total", f'listener="{listener}'), 0)

    def test_peers_that_leave_in_the_middle(self):
        post = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
        get = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
        for address, listener, request in ((self.server.otlp_http, "otlp_http", post), (self.server.http, "query", get)):
            cut_off = f'listener="{listener}",reason="cut_off"'
            for size in (*range(1, len(request), 7), len(request)):
                poke = lambda: raw.poke(address, request[:size])
                answer = self.rises(poke, "fathom_http_refused_total", cut_off)
                self.assertEqual(raw.status_of(answer), 400, request[:size])
                self.assertIn(b"the request ended too early", answer)
            self.assertEqual(raw.poke(address, b""), b"")
        expecting = post.replace(b"\r\n\r\n{", b"\r\nExpect: 100-continue\r\n\r\n")
        for address, request in ((self.server.otlp_http, expecting), (self.server.http, get + b"\r\n" + get)):
            connection = raw.connect(address)
            connection.sendall(request)
            self.assertTrue(connection.recv(100))  # the server has what a reset would throw away
            self.rises(lambda: raw.leave(connection), "fathom_http_refused_total", 'reason="cut_off"')

    def test_slow_loris_is_cut_off(self):
        head = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n"
        beginnings = [(self.server.http, b"GET /heal"), (self.server.otlp_http, head[:20]),
                      (self.server.otlp_http, head + b"\r\n{")]
        connections = [(raw.connect(address), start) for address, start in beginnings for _ in range(20)]
        for connection, start in connections:
            self.addCleanup(connection.close)
            connection.sendall(start)
        before = self.counted("fathom_http_refused_total")
        stopping = threading.Event()

        def trickle():  # a byte now and then, which a timeout that starts anew with each byte would be fooled by
            while not stopping.wait(1):
                for connection, _ in connections:
                    try:
                        connection.send(b"a")
                    except OSError:
                        pass

        slow = threading.Thread(target=trickle)
        slow.start()
        try:
            self.works()
            for connection, start in connections:
                took, answer = raw.until_closed(connection, LORIS_S)
                self.assertLess(took, LORIS_S, start)
                # An exporter comes again after 503, and would give up after 408.
                self.assertEqual(raw.status_of(answer), 408 if start.startswith(b"GET") else 503, answer)
        finally:
            stopping.set()
            slow.join()
        self.assertGreaterEqual(self.counted("fathom_http_refused_total") - before, 60)

    def test_a_thousand_idle_connections_to_every_port(self):
        if not raw.allow_open_files(len(self.ports) * IDLE + 200):
            self.skipTest("the open file limit is too low for 4,000 connections")
        connections = []
        try:
            for address in self.ports:
                connections += [raw.connect(address) for _ in range(IDLE)]
            for _ in range(5):
                self.works()
            if not node.missing():
                self.assertEqual(self.pokes([{"method": EXPORT, "hex": protobuf_request().hex()}])[0]["code"], OK)
                self.assertEqual(self.pokes([{"method": SERVICES}], self.server.query_grpc)[0]["code"], OK)
        finally:
            for connection in connections:
                connection.close()

    # ---- gRPC ----

    def pokes(self, calls, address=None):
        node.require()
        process = node.start("poke.cjs", address or self.server.otlp_grpc)
        output, _ = process.communicate("".join(json.dumps(call) + "\n" for call in calls), timeout=120)
        return [json.loads(line) for line in output.splitlines()]

    def test_malformed_grpc(self):
        good = protobuf_request(span=b"\x03" * 8).hex()
        calls = [(OK, {"hex": good}), (OK, {"hex": ""}), (INVALID_ARGUMENT, {"hex": good[:-2]}),
                 (INVALID_ARGUMENT, {"hex": "ffffffffffff"}), (RESOURCE_EXHAUSTED, {"size": (64 << 20) + 1}),
                 (UNIMPLEMENTED, {"method": "/no.such.Service/Method"}), (OK, {"hex": good})]
        poke = lambda: self.pokes([{"method": EXPORT, **call} for _, call in calls])
        answers = self.rises(poke, "fathom_otlp_requests_total", 'transport="grpc",result="invalid"')
        self.assertEqual([answer["code"] for answer in answers], [code for code, _ in calls], answers)

    def test_messages_that_are_announced_and_never_sent(self):
        with Server(arguments=["--grpc-connection-age", "2s"]) as server, http2.Connection(server.otlp_grpc) as connection:
            connection.begin_message(EXPORT, 60 << 20)
            self.assertLess(connection.seconds_until_closed(LORIS_S), LORIS_S)
            self.assertGreater(connection.pings, 0, "it was asked to come anew, and acknowledged")
            until(lambda: server.metrics()["fathom_otlp_cut_off_total"] == 1, "the message that never came is counted")

    def test_malformed_queries_over_grpc(self):
        calls = [(OK, {"hex": ""}), (INVALID_ARGUMENT, {"hex": "ffffffffffff"}), (RESOURCE_EXHAUSTED, {"size": 1 << 20}),
                 (UNIMPLEMENTED, {"method": "/no.such.Service/Method"}), (OK, {"hex": ""})]
        poke = lambda: self.pokes([{"method": SERVICES, **call} for _, call in calls], self.server.query_grpc)
        reasons = ("invalid", "exhausted", "not_found")
        refused = lambda: [self.counted("fathom_query_refused_total", f'reason="{reason}"') for reason in reasons]
        before = refused()
        answers = poke()
        self.assertEqual([answer["code"] for answer in answers], [code for code, _ in calls], answers)
        self.assertTrue(all(answer["details"] for answer in answers if answer["code"] != OK), answers)
        self.assertIn("/no.such.Service/Method", answers[3]["details"])
        self.assertEqual(refused(), [count + 1 for count in before])


if __name__ == "__main__":
    main()
