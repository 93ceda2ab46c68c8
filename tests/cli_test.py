"""The command line as scripts see it: fixed words, the shapes of its JSON, exit codes, the order of the slowest."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from harness import otlp, raw
from harness.main import main
from harness.server import FATHOM, Server, cli, parent_of, until

OK, NOTHING_FOUND, USAGE, UNREACHABLE, REFUSED = 0, 1, 2, 3, 4
COMMANDS = ("up", "slowest", "trace", "services", "latency", "nodes", "capture", "tracepoints", "doctor", "demo")
ROW = {"trace_id", "span_id", "service", "operation", "start_time_unix_nano", "duration_nano", "root_duration_nano",
       "complete", "error", "spans"}
SPAN = {"span_id", "parent_span_id", "service", "operation", "kind", "start_time_unix_nano", "duration_nano", "status",
        "attributes", "events", "links"}
MS = 1_000_000


class Help(unittest.TestCase):
    def test_help_teaches(self):
        text = cli("--help", check=OK).stdout
        for command in COMMANDS:
            self.assertIn(command, text)
            own = cli(command, "--help", check=OK).stdout
            self.assertIn("fathom " + command, own)

    def test_usage_errors(self):
        self.assertIn("slowest", cli("slowst", check=USAGE).stderr)
        self.assertIn("--service", cli("slowest", "--servce", "a", check=USAGE).stderr)
        for words in ([], ["slowest", "--limit", "many"], ["slowest", "--min-duration", "fast"], ["slowest", "--by", "moon"],
                      ["slowest", "--where", ""], ["slowest", "--since", "1h", "--from", "now"],
                      ["slowest", "--from", "now", "--to", "now-1h"], ["slowest", "--min-duration", "2s", "--max-duration", "1s"],
                      ["slowest", "--format", "xml"], ["trace"], ["trace", "nohex"], ["trace", "1" * 32, "--format", "table"]):
            with self.subTest(words=words):
                self.assertTrue(cli(*words, check=USAGE).stderr)

    def test_help_wins(self):
        self.assertIn("fathom slowest", cli("slowest", "--help", "x", check=OK).stdout)

    def test_no_server(self):
        with socket.socket() as bound:  # bound, not listening: nobody answers there
            bound.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{bound.getsockname()[1]}"
            for words in (["slowest"], ["services"], ["latency"], ["trace", "1" * 32]):
                self.assertIn(url.removeprefix("http://"), cli(*words, "--url", url, check=UNREACHABLE).stderr)


class Answers(unittest.TestCase):
    """Three traces: 300 ms in two services with an error, 200 ms, 100 ms with a missing parent."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.enterClassContext(cls.server)
        cls.start = time.time_ns() - 10 * 60 * 10**9
        cls.ids = [otlp.trace_id() for _ in range(3)]
        first, second, third = cls.ids
        front = otlp.span(first, "GET /cart", 250 * MS, start_nano=cls.start, tier="gold")
        back = otlp.span(first, "read", 200 * MS, start_nano=cls.start + 100 * MS, parent=front["spanId"], kind=3, error=True,
                         rows=7)
        middle = otlp.span(second, "GET /cart", 200 * MS, start_nano=cls.start + 1000 * MS, tier="iron", share=3.0,
                           big=100000.0, **{"odd=key": "v"})
        orphan = otlp.span(third, "GET /cart", 100 * MS, start_nano=cls.start + 2000 * MS, parent=otlp.span_id())
        otlp.send(cls.server.otlp_http, otlp.request("front", [front, middle, orphan], region="eu"))
        otlp.send(cls.server.otlp_http, otlp.request("back", [back]))
        until(lambda: all(map(cls.server.trace, cls.ids)) and len(cls.server.trace(first)["spans"]) == 2, "the traces")

    def run_json(self, *words):
        return json.loads(cli(*words, "--url", self.server.url, "--format", "json", check=OK).stdout)

    def slowest(self, *words):
        return self.run_json("slowest", *words)

    def found(self, *words):
        return [self.ids.index(row["trace_id"]) for row in self.slowest(*words)]

    def test_rows(self):
        rows = self.slowest()
        self.assertEqual([row["trace_id"] for row in rows], self.ids)
        for row in rows:
            self.assertLessEqual(ROW, set(row))
        first = rows[0]
        self.assertEqual(first["start_time_unix_nano"], str(self.start))
        self.assertEqual((first["duration_nano"], first["root_duration_nano"]), (300 * MS, 250 * MS))
        self.assertEqual((first["service"], first["operation"], first["spans"]), ("front", "GET /cart", 2))
        self.assertEqual([(row["complete"], row["error"]) for row in rows], [(True, True), (True, False), (False, False)])

    def test_requests_where_nothing_is_traced(self):
        def said(*words, check):
            outcome = cli(*words, "--url", self.server.url, check=check)
            return outcome.stdout + outcome.stderr
        self.assertIn("this node has nothing of it", said("capture", "--service", "front", check=NOTHING_FOUND))
        self.assertIn("FATHOM_EVENT makes one", said("tracepoints", "list", check=OK))
        self.assertIn("that come later", said("tracepoints", "enable", "*", check=OK))
        self.assertIn("'db-9'", said("capture", "--pid", "7", "--node", "db-9", check=REFUSED))

    def test_filters(self):
        self.assertEqual(self.found("--service", "front"), [0, 1, 2])
        self.assertEqual(self.found("--service", "back"), [0])
        self.assertEqual(self.found("--service", "nobody"), [])
        self.assertEqual(self.found("--service", "back", "--operation", "GET /cart"), [])
        self.assertEqual(self.found("--operation", "GET /cart", "--where", "tier=iron"), [1])
        self.assertEqual(self.found("--where", "region=eu"), [0, 1, 2])
        self.assertEqual(self.found("--where", "rows=7", "--where", "service.name=back"), [0])
        self.assertEqual(self.found("--where", "tier=gold", "--where", "rows=7"), [])
        self.assertEqual(self.found("--errors"), [0])
        self.assertEqual(self.found("--errors", "--service", "front"), [])

    def test_numbers_and_keys_as_people_write_them(self):
        for condition in ("share=3.0", "share=3", "share=3e0", "big=100000.0", "big=100000", "big=1e5", '"odd=key"=v', "big>99999.5",
                          "share <= 3", '"odd=key"', "share!=4"):
            with self.subTest(condition=condition):
                self.assertEqual(self.found("--where", condition), [1])
        self.assertEqual(self.found("--where", "rows=7.0"), [0])
        attributes = self.run_json("trace", self.ids[1])["spans"][0]["attributes"]
        for key in ("share", "big"):  # as the answer prints it, whatever that is
            self.assertEqual(self.found("--where", f"{key}={json.dumps(attributes[key])}"), [1])

    def test_durations_are_of_what_by_names(self):
        self.assertEqual(self.found("--min-duration", "200ms"), [0, 1])
        self.assertEqual(self.found("--max-duration", "200ms"), [1, 2])
        self.assertEqual(self.found("--min-duration", "260ms"), [0])
        self.assertEqual(self.found("--min-duration", "260ms", "--by", "span"), [])
        spans = self.slowest("--by", "span", "--min-duration", "200ms")
        self.assertEqual([(row["operation"], row["duration_nano"]) for row in spans],
                         [("GET /cart", 250 * MS), ("read", 200 * MS), ("GET /cart", 200 * MS)])

    def test_times_and_limits(self):
        at = lambda ms: str(self.start + ms * MS)
        self.assertEqual(self.found("--from", at(1000), "--to", at(2000)), [1])
        self.assertEqual(self.found("--from", at(0), "--to", at(1)), [0])
        self.assertEqual(self.found("--since", "1m"), [])
        self.assertEqual(self.found("--limit", "2"), [0, 1])
        seconds = self.start / 10**9
        self.assertEqual(self.found("--from", f"{seconds + 0.5:.6f}", "--to", f"{seconds + 1.5:.6f}"), [1])
        minute = lambda at: time.strftime("%Y-%m-%dT%H:%M", time.gmtime(at))
        self.assertEqual(self.found("--from", minute(seconds), "--to", minute(seconds + 120)), [0, 1, 2])
        self.assertEqual(self.found("--from", time.strftime("%Y-%m-%d", time.gmtime(seconds))), [0, 1, 2])
        status, text = self.server.get(f"/api/v1/slowest?from={minute(seconds)}:00+00:00")
        self.assertEqual((status, len(json.loads(text)["rows"])), (200, 3))

    def test_trace(self):
        trace = self.run_json("trace", self.ids[0])
        self.assertEqual((trace["trace_id"], trace["duration_nano"], trace["complete"]), (self.ids[0], 300 * MS, True))
        for span in trace["spans"]:
            self.assertLessEqual(SPAN, set(span))
        back = next(span for span in trace["spans"] if span["service"] == "back")
        self.assertEqual((back["operation"], back["kind"], back["status"], back["attributes"]["rows"]),
                         ("read", "client", "error", 7))
        self.assertIs(self.run_json("trace", self.ids[2])["complete"], False)

    def test_tree_and_tables(self):
        url = ["--url", self.server.url]
        tree = cli("trace", self.ids[0], *url, check=OK).stdout
        self.assertLess(tree.index("GET /cart"), tree.index("read"))
        table = cli("slowest", *url, check=OK).stdout
        positions = [table.index(trace) for trace in self.ids]
        self.assertEqual(positions, sorted(positions))
        self.assertNotIn("\x1b", tree + table)
        for command in ("services", "latency"):
            self.assertTrue(cli(command, *url, check=OK).stdout)

    def test_services_and_latency(self):
        self.assertIn("back", json.dumps(self.run_json("services")))
        latency = self.run_json("latency", "--service", "front")
        self.assertTrue(latency)

    def test_nothing_found(self):
        outcome = cli("trace", "f" * 32, "--url", self.server.url, check=NOTHING_FOUND)
        self.assertTrue(outcome.stderr)
        self.assertEqual(self.slowest("--service", "nobody"), [])

    def test_only_trace_says_nothing_found(self):
        for command in ("slowest", "services", "latency"):
            cli(command, "--url", self.server.url + "/x", check=REFUSED)

    def test_every_counter_is_listed(self):
        with Server() as fresh:
            metrics = fresh.metrics()
        for reason in ("queue_full", "stopping", "invalid", "not_found", "exhausted"):
            self.assertEqual(metrics[f'fathom_query_refused_total{{reason="{reason}"}}'], 0)
        self.assertEqual(metrics['fathom_query_requests_total{query="latency",result="exhausted"}'], 0)
        for series in ('fathom_store_refused_total{reason="queue_full"}', 'fathom_dropped_spans_total{reason="age"}',
                       'fathom_limited_total{limit="listed_attribute_keys"}', "fathom_duplicate_batches_total",
                       "fathom_seal_failures_total", "fathom_trace_lookup_failures_total"):
            self.assertEqual(metrics[series], 0)

    def test_errors_by_its_bare_name(self):
        self.assertEqual(len(self.server.ask("/api/v1/slowest?errors")["rows"]), 1)
        self.assertEqual(self.server.get("/api/v1/slowest?errors=yes")[0], 400)

    def test_the_url_may_come_from_the_environment(self):
        outcome = cli("slowest", "--format", "json", env={"FATHOM_URL": self.server.url}, check=OK)
        self.assertEqual(len(json.loads(outcome.stdout)), 3)

    def test_doctor(self):
        outcome = cli("doctor", "--url", self.server.url, "--format", "json")
        checks = [check["check"] for check in json.loads(outcome.stdout)["checks"]]
        self.assertIn("capture sources", checks)

    def test_doctor_misses_no_demo_where_it_is_installed(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as elsewhere:
            alone = shutil.copy(FATHOM, elsewhere)
            outcome = subprocess.run([alone, "doctor", "--url", self.server.url], capture_output=True, text=True, check=False,
                                     env={**os.environ, "FATHOM_EXAMPLES": elsewhere})
            self.assertRegex(outcome.stdout, r"ok +demo +not installed, and not needed")
            self.assertNotIn("apt install nodejs", outcome.stdout)


class Up(unittest.TestCase):
    def test_signals_end_it_cleanly(self):
        for how in (signal.SIGTERM, signal.SIGINT):
            with Server() as server:
                self.assertEqual(server.stop(how), 0, server.log_text())

    def test_what_is_stored_survives_a_restart(self):
        trace = otlp.trace_id()
        with Server() as server:
            otlp.send(server.otlp_http, otlp.request("kept", [otlp.span(trace, "kept", MS)]))
            self.assertEqual(server.stop(), 0)
            server.start()
            self.assertIsNotNone(server.trace(trace))

    def test_queries_over_grpc_have_a_port_that_stays(self):
        with Server(arguments=["--query-grpc", "127.0.0.1:0"]) as server:
            self.assertEqual(set(server.addresses), {"http", "otlp_grpc", "otlp_http", "query_grpc", "ingest", "agent_socket"})
            raw.connect(server.query_grpc).close()
            first = server.pid()
            os.kill(first, signal.SIGKILL)
            until(lambda: server.pid() not in (first, None) and server.ready(), "the server is back")
            raw.connect(server.query_grpc).close()
        with Server() as server:
            self.assertIsNone(server.query_grpc)

    def test_the_agent_is_kept_too(self):
        with Server() as server:
            self.assertTrue(pathlib.Path(server.agent_socket).is_socket())
            self.assertEqual(server.addresses["agent_socket"], server.agent_socket)
            before, agent = server.pid(), server.agent_pid()
            os.kill(agent, signal.SIGKILL)
            until(lambda: server.agent_pid() not in (None, agent), "a new agent")
            self.assertEqual(server.pid(), before, "the server is left alone")
            self.assertEqual(server.stop(), 0)
            self.assertFalse(pathlib.Path(server.agent_socket).exists(), "nobody listens any more")

    def test_a_second_one_on_free_ports_needs_no_care(self):
        with Server(arguments=["--retention-age", "1d"]) as first, Server() as second:
            self.assertNotEqual(first.ingest, second.ingest)

    def fails_to_start(self, *words):
        outcome = subprocess.run([FATHOM, "up", *words], capture_output=True, text=True, timeout=120, check=False)
        self.assertNotEqual(outcome.returncode, 0)
        self.assertEqual(outcome.stdout, "")
        return outcome.stderr

    def test_what_keeps_it_from_starting_is_said(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as directory, Server() as server:
            free = ["--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0", "--ingest", "127.0.0.1:0",
                    "--agent-socket", str(pathlib.Path(directory, "agent.sock"))]
            other = str(pathlib.Path(directory, "data"))
            self.assertIn(server.http, self.fails_to_start("--data", other, "--http", server.http, *free))
            self.assertIn(server.data, self.fails_to_start("--data", server.data, "--http", "127.0.0.1:0", *free))
            ours = [*free[:-1], server.agent_socket]
            said = self.fails_to_start("--data", other, "--http", "127.0.0.1:0", *ours)
            self.assertIn(server.agent_socket, said, "an agent that is there already")
            self.assertIn("the agent ended with status", said)
            self.assertIn("is empty", self.fails_to_start("--agent-socket", ""))

    def test_a_wrong_value_of_a_servers_flag_is_one_message(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as directory:
            said = self.fails_to_start("--durability", "x", "--agent-socket", str(pathlib.Path(directory, "agent.sock")))
        self.assertEqual(said, "fathom-server: --durability: 'x' is none of fsync, os\n")

    def test_its_children_end_with_it(self):
        server = Server()
        server.start()
        children = server.pid(), server.agent_pid()
        self.assertNotEqual(server.stop(signal.SIGKILL), 0)
        for child in children:
            until(lambda pid=child: parent_of(pid) is None, "the orphans end")
        server.clean_up()


if __name__ == "__main__":
    main()
