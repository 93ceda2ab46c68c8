"""A real server's answers against the schema that the page's types are made from, and the page itself as served."""

import gzip
import http.client
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

from harness import otlp, pt
from harness.main import main
from harness.server import BIN, PATIENCE_S, ROOT, Server, cli, until

try:
    import jsonschema
except ImportError:
    jsonschema = None

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
MS = 1_000_000
SAMPLE = ROOT / "snapshot/symbols/testdata/sample.elf"  # lines of /build/sample.cc; nothing of it runs


def definitions():
    """Those of all schema files, as ui/types.mjs merges them."""
    merged = {}
    for path in sorted((ROOT / "query/schema").glob("*.schema.json")):
        for name, definition in json.loads(path.read_text(encoding="utf-8"))["$defs"].items():
            assert name not in merged, f"{path.name} defines {name} a second time"
            merged[name] = definition
    return merged


def validator(name):
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions(),
              "$ref": f"#/$defs/{name}"}
    kind = getattr(jsonschema, "Draft202012Validator", jsonschema.Draft7Validator)
    return kind(schema)


def shop_requests(server, begin):
    """Two hundred checkouts, every tenth slow and of version 2, each calling a store; some of these fail."""
    front, back = [], []
    for number in range(200):
        trace, root = otlp.trace_id(), otlp.span_id()
        slow = number % 10 == 0
        start = begin + number * 10 * MS
        root_span = otlp.span(trace, "POST /pay", (500 if slow else 5) * MS, start_nano=start, span=root,
                              tier="gold" if slow else "lead")
        if slow:
            otlp.send(server.otlp_http, otlp.request("checkout", [root_span], **{"service.version": "2", "host.name": "b"}))
        else:
            front.append(root_span)
        back.append(otlp.span(trace, "SELECT", 2 * MS, start_nano=start + MS, parent=root, error=number % 4 == 0))
    otlp.send(server.otlp_http, otlp.request("checkout", front, **{"service.version": "1", "host.name": "a"}))
    otlp.send(server.otlp_http, otlp.request("stock", back))


@unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.source = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.source.cleanup)
        pathlib.Path(cls.source.name, "sample.cc").write_text("int a;\nint b;\nint c;\n", encoding="utf-8")
        cls.server = Server(arguments=["--source-dir", f"/build={cls.source.name}"])
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.__exit__, None, None, None)
        cls.begin = time.time_ns() - 60 * 1000 * MS
        shop_requests(cls.server, cls.begin)
        until(lambda: len(cls.server.ask("/api/v1/services")["services"]) == 2, "both services are there")

    def ask(self, name, path, **parameters):
        answer = self.server.ask(path, parameters)
        faults = [f"{'/'.join(map(str, fault.absolute_path))}: {fault.message}" for fault in
                  validator(name).iter_errors(answer)]
        self.assertEqual(faults, [], f"{path} is no {name}")
        return answer

    def test_every_answer_is_as_its_schema_says(self):
        self.assertEqual(len(self.ask("SlowestAnswer", "/api/v1/slowest")["rows"]), 20)
        self.ask("SlowestAnswer", "/api/v1/slowest", by="span", limit=3, service="stock", errors="true")
        self.ask("ServicesAnswer", "/api/v1/services")
        self.ask("OperationsAnswer", "/api/v1/operations", service="checkout")
        self.ask("LatencyAnswer", "/api/v1/latency")
        self.ask("LatencyAnswer", "/api/v1/latency", heatmap="true")
        self.ask("AttributeKeysAnswer", "/api/v1/attributes")
        self.ask("AttributeValuesAnswer", "/api/v1/attributes/tier/values")
        self.ask("AttributeValuesAnswer", "/api/v1/attributes/tier/values", service="checkout", prefix="OL")
        self.ask("NodesAnswer", "/api/v1/nodes")
        self.ask("StatusAnswer", "/api/v1/status")

    def test_a_timeline_of_spans_alone(self):
        trace = self.server.ask("/api/v1/slowest")["rows"][0]["trace_id"]
        answer = self.ask("TimelineAnswer", f"/api/v1/traces/{trace}/timeline")
        self.assertEqual({process["no_capture"]["reason"] for process in answer["processes"]} - {"no_agent"}, {"no_client"})

    def test_errors_have_a_schema_too(self):
        for path, status in (("/api/v1/slowest?where=a==b", 400), ("/api/v1/nothing", 404), ("/api/v1/traces/" + "1" * 32, 404)):
            given, said = self.server.get(path)
            self.assertEqual(given, status)
            self.assertEqual([fault.message for fault in validator("ErrorAnswer").iter_errors(json.loads(said))], [], path)

    def test_the_schema_can_be_failed(self):
        self.assertTrue(list(validator("StatusAnswer").iter_errors({"version": "1", "ready": True})))
        self.assertTrue(list(validator("HeatmapCell").iter_errors([1, 2, 3])))

    def test_heatmap(self):
        answer = self.ask("HeatmapAnswer", "/api/v1/heatmap", since="5m", columns=100)
        self.assertEqual(answer["spans"], 400)
        self.assertEqual(answer["errors"], 50)
        self.assertEqual(answer["max_nano"], 500 * MS)
        self.assertEqual(sum(cell[2] for cell in answer["cells"]), 400)
        self.assertTrue(all(cell[0] < answer["columns"] for cell in answer["cells"]))
        self.assertTrue(all(cell[1] + 1 < len(answer["row_bounds_nano"]) for cell in answer["cells"]))
        self.ask("HeatmapAnswer", "/api/v1/heatmap", since="5m", service="stock", errors="true", where="tier=gold")
        self.assertEqual(self.server.get("/api/v1/heatmap", {"to": "now"})[0], 400)
        self.assertEqual(self.server.get("/api/v1/heatmap", {"columns": 0})[0], 400)

    def test_differences(self):
        answer = self.ask("DifferencesAnswer", "/api/v1/differences", **{"from": "now-5m", "min_duration": "100ms"})
        self.assertEqual(answer["selected"], {"spans": 20, "looked_at": 20, "estimated": False})
        self.assertEqual(answer["rest"]["spans"], 380)
        first = answer["differences"][0]
        names = {(one["key"], one["value"]) for one in [first, *first["also"]]}
        self.assertEqual(names, {("tier", "gold"), ("service.version", "2"), ("host.name", "b")})
        self.assertEqual((first["selected"], first["rest"], first["lift"]), (20, 0, None))
        inside = self.ask("DifferencesAnswer", "/api/v1/differences", service="checkout", view_from="now-10m",
                          view_to="now", **{"from": "now-5m", "min_duration": "100ms", "max_duration": "1s"})
        self.assertEqual(inside["rest"]["spans"], 180)

    def push_calls(self, calls):
        """A snapshot of so many calls, by way of the command line; how many instructions it has."""
        with tempfile.TemporaryDirectory() as directory:
            packets, instructions = pt.stream(calls)
            pathlib.Path(directory, "code").write_bytes(pt.CODE)
            pathlib.Path(directory, "stream").write_bytes(packets)
            env = {"FATHOM_SNAPSHOTS": f"{directory}/snapshots"}
            imported = cli("snapshot", "import", "--pt", f"{directory}/stream", "--cpu", "6/142/10", "--image",
                           f"{directory}/code@{pt.BASE:x}", "--image", f"{SAMPLE}@7f0000000000", check=0, env=env)
            identity = json.loads(imported.stdout)["snapshot_id"]
            cli("snapshot", "push", identity, "--url", f"http://{self.server.http}", check=0, env=env)
        return identity, instructions

    def test_what_of_a_snapshot_is_visible(self):
        identity, instructions = self.push_calls(6000)
        view = f"/api/v1/snapshots/{identity}/view"
        whole = self.ask("SnapshotViewAnswer", view)
        self.assertEqual((whole["snapshot_id"], whole["instructions"], whole["gaps"]), (identity, instructions, 0))
        thread = whole["threads"][0]
        self.assertEqual((thread["instructions"], thread["depths"]), (instructions, 2))
        calls = self.ask("SnapshotViewCallsAnswer", f"{view}/calls", thread=0, columns=100, **{"from": thread["start"]})
        self.assertEqual(sum(one["calls"] for one in calls["merged"]) + len(calls["calls"]), thread["calls"])
        self.ask("SnapshotViewCallsAnswer", f"{view}/calls", thread=0, axis="rows", to=200, columns=4000)
        rows = self.ask("SnapshotViewRowsAnswer", f"{view}/insns", thread=0, row=1000, count=50)
        self.assertEqual([row["row"] for row in rows["rows"]], list(range(1000, 1050)))
        middle = self.ask("SnapshotViewRowsAnswer", f"{view}/insns", thread=0, at=(thread["start"] + thread["end"]) // 2)
        self.assertIn(middle["at_row"], [row["row"] for row in middle["rows"]])
        found = self.ask("SnapshotViewFindAnswer", f"{view}/find", thread=0, row=0, text="RET")
        stack = self.ask("SnapshotViewStackAnswer", f"{view}/stack", thread=0, row=found["row"])
        self.assertEqual(len(stack["calls"]), 2)
        self.assertGreaterEqual(self.server.metrics()["fathom_snapshot_views"], 1)
        source = self.ask("SnapshotViewSourceAnswer", f"{view}/source", file="/build/sample.cc", line=2, context=1)
        self.assertEqual((source["first_line"], source["lines"]), (1, ["int a;", "int b;", "int c;"]))
        other = self.ask("SnapshotViewSourceAnswer", f"{view}/source", file="/build/other.cc", line=2, context=1)
        self.assertEqual(other["lines"], [])

    def test_what_is_asked_of_a_whole_snapshot(self):
        identity, _ = self.push_calls(60)
        whole = f"/api/v1/snapshots/{identity}"
        for verb in ("calls", "functions", "syscalls", "sunburst", "stats"):
            self.ask(f"Snapshot{verb.capitalize()}Answer", f"{whole}/{verb}")
            self.ask("SnapshotHeldLocks", f"{whole}/{verb}")
        self.assertGreater(len(self.ask("SnapshotCallsAnswer", f"{whole}/calls")["rows"]), 2)
        self.ask("SnapshotDeltaAnswer", f"{whole}/delta", to="return", **{"from": "call"})
        other, _ = self.push_calls(90)
        self.ask("SnapshotDiffAnswer", f"{whole}/diff/{other}")

    def test_a_snapshot_and_the_list_of_them(self):
        identity, _ = self.push_calls(60)
        listed = self.ask("SnapshotsAnswer", "/api/v1/snapshots")["snapshots"]
        self.assertIn(identity, [row["id"] for row in listed])
        for row in listed:
            self.ask("SnapshotAnswer", f"/api/v1/snapshots/{row['id']}")

    def test_mistakes_in_looking_into_a_snapshot(self):
        identity, _ = self.push_calls(60)
        view = f"/api/v1/snapshots/{identity}/view"
        self.assertEqual(self.server.get(f"{view}/calls", {"thread": 7})[0], 404)
        self.assertEqual(self.server.get(f"{view}/calls", {"thread": 0, "from": 9, "to": 3})[0], 400)
        self.assertEqual(self.server.get(f"/api/v1/snapshots/{'1' * 32}/view")[0], 404)
        elsewhere = self.ask("SnapshotViewSourceAnswer", f"{view}/source", file="/etc/passwd", line=1)
        self.assertEqual(elsewhere["lines"], [])
        self.assertIn("--source-dir", elsewhere["missing"])

    def test_graph(self):
        answer = self.ask("GraphAnswer", "/api/v1/graph", since="5m")
        self.assertEqual([one["service"] for one in answer["services"]], ["checkout", "stock"])
        self.assertEqual(len(answer["edges"]), 1)
        edge = answer["edges"][0]
        self.assertEqual((edge["caller"], edge["callee"], edge["calls"], edge["errors"]), ("checkout", "stock", 200, 50))
        self.assertEqual(edge["max_nano"], 2 * MS)


@unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
class CapturedRequests(unittest.TestCase):
    """What programs did, captured by an agent: the documents of traces, captures and timelines as they really are."""

    ask = Answers.ask

    @classmethod
    def setUpClass(cls):
        cls.server = Server(arguments=["--capture-threshold", "2ms"])
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.__exit__, None, None, None)
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as directory:
            subprocess.run([BIN / "shop", "run", "--seconds", "3", "--rate", "25", "--directory", directory], check=True,
                           capture_output=True, timeout=PATIENCE_S,
                           env={**os.environ, "FATHOM_AGENT_SOCKET": cls.server.agent_socket})
        cls.captures = until(lambda: [row for row in cls.server.ask("/api/v1/captures")["captures"] if row["trace_id"]],
                             "a slow request of the shop was captured")
        for row in cls.captures:
            until(lambda trace=row["trace_id"]: cls.server.trace(trace), "its spans are stored")

    def test_captures(self):
        self.assertGreater(len(self.ask("CapturesAnswer", "/api/v1/captures")["captures"]), 0)
        self.ask("CapturesAnswer", "/api/v1/captures", trigger="crash")
        for row in self.captures[:5]:
            self.ask("CaptureAnswer", f"/api/v1/captures/{row['id']}")

    def test_traces(self):
        for row in self.captures[:5]:
            answer = self.ask("TraceAnswer", f"/api/v1/traces/{row['trace_id']}")
            self.assertIn(row["id"], [one["id"] for one in answer["captures"]])

    def test_timelines(self):
        for row in self.captures[:3]:
            whole = self.ask("TimelineAnswer", f"/api/v1/traces/{row['trace_id']}/timeline", all="true")
            self.assertGreater(sum(len(process["threads"]) for process in whole["processes"]), 0)
            self.ask("TimelineAnswer", f"/api/v1/captures/{row['id']}/timeline")
            self.ask("TimelineAnswer", f"/api/v1/traces/{row['trace_id']}/timeline", limit=5)


class Page(unittest.TestCase):
    def get(self, server, path, method="GET", **headers):
        connection = http.client.HTTPConnection(server.http, timeout=60)
        try:
            names = {name.replace("_", "-"): text for name, text in headers.items()}
            connection.request(method, path, headers=names)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def test_files_of_a_directory(self):
        with tempfile.TemporaryDirectory() as directory:
            pathlib.Path(directory, "assets").mkdir()
            pathlib.Path(directory, "index.html").write_text("<title>fathom</title>", encoding="utf-8")
            pathlib.Path(directory, "assets/a-1.js").write_text("//" + "x" * 200_000, encoding="utf-8")
            with Server(arguments=["--page", directory]) as server:
                self.look_at(server)

    def look_at(self, server):
        for path in ("/", "/trace/1234", "/trace/1234/timeline", "/services"):
            status, headers, body = self.get(server, path, **BROWSER)
            self.assertEqual((status, body), (200, b"<title>fathom</title>"), path)
            self.assertIn("default-src 'self'", headers["Content-Security-Policy"])
        self.assertIn(b"/api/v1/slowest", self.get(server, "/", Accept="*/*")[2])
        self.assertEqual(self.get(server, "/trace/1234", Accept="*/*")[0], 404)
        status, headers, body = self.get(server, "/assets/a-1.js", Accept_Encoding="gzip")
        self.assertEqual((status, len(gzip.decompress(body))), (200, 200_002))
        self.assertIn("immutable", headers["Cache-Control"])
        again = self.get(server, "/assets/a-1.js", Accept_Encoding="gzip", If_None_Match=headers["ETag"])
        self.assertEqual((again[0], again[2]), (304, b""))
        head = self.get(server, "/assets/a-1.js", "HEAD")
        self.assertEqual((head[0], head[1]["Content-Length"], head[2]), (200, "200002", b""))
        for hostile in ("/../index.html", "/assets/%2e%2e/index.html", "/assets/..%2findex.html", "/assets/"):
            self.assertEqual(self.get(server, hostile, **BROWSER)[0], 404, hostile)
        self.assertEqual(self.get(server, "/", "POST", **BROWSER)[0], 405)

    def test_a_directory_that_is_none_is_refused(self):
        with tempfile.TemporaryDirectory() as directory:
            server = Server(arguments=["--page", os.path.join(directory, "none")])
            with self.assertRaises(AssertionError):
                server.start()
            self.assertIn("--page", server.log_text())
            server.process.stdout.close()
            server.clean_up()


if __name__ == "__main__":
    main()
