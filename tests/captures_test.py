"""From a slow request to what its threads did: triggers, captures, timelines and exports, over the real programs."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

from harness import otlp
from harness.capture_writer import Writer, scheduling_is_told
from harness.main import main
from harness.protobuf import fields
from harness.server import BIN, PATIENCE_S, Server, cli, until

SHOP = str(BIN / "shop")
EVENTS_OF_50000 = 50000 // 32  # bytes, as capture_writer counts them


SCHEDULING = scheduling_is_told()


class Captures(unittest.TestCase):
    def setUp(self):
        self.server = Server(arguments=["--capture-threshold", "50ms"])
        self.enterContext(self.server)
        until(lambda: self.server.ask("/api/v1/nodes")["nodes"], "the node is connected")

    def writer(self):
        writer = Writer(self.server.agent_socket)
        self.addCleanup(writer.kill)
        return writer

    def captures(self, **filters):
        return self.server.ask("/api/v1/captures", filters)["captures"]

    def capture_of(self, trigger, **filters):
        def found():
            return [row for row in self.captures(**filters) if row["trigger"] == trigger]
        return until(found, f"a capture, {trigger}")[0]

    def fathom(self, *words, check=0):
        return cli(*words, "--url", self.server.url, check=check).stdout

    def timeline(self, trace, *words):
        return json.loads(self.fathom("timeline", trace, "--format", "json", *words))

    def test_a_program_asks(self):
        trace = self.writer().say("burst 100000")
        self.capture_of("program", trace_id=trace)
        text = self.fathom("timeline", trace)
        self.assertIn("bench.event", text)
        self.assertIn("bench.burst", text)

    def test_an_overdue_span_is_captured_while_it_runs(self):
        writer = self.writer()
        writer.tell("hold patient.work 3000")
        row = self.capture_of("overdue", service="writer")
        self.assertEqual(row["operation"], "patient.work")
        trace = writer.answer()[0]
        self.assertEqual(row["trace_id"], trace)
        until(lambda: self.server.trace(trace), "its span is stored")
        self.assertIn(trace, self.fathom("trace", trace))
        self.assertIn("capture", self.fathom("trace", trace))

    def test_spans_without_events_are_on_their_threads(self):
        writer = self.writer()
        writer.tell("quiet")
        trace, _, _, own, other = writer.answer()
        own, other = int(own), int(other)
        self.capture_of("program", trace_id=trace)
        until(lambda: len((self.server.trace(trace) or {"spans": []})["spans"]) == 3, "its spans are stored")
        [process] = self.timeline(trace)["processes"]
        self.assertEqual(process["spans"], [], "each is on a thread")
        placed = {span["operation"]: (thread["tid"], span.get("thread_guessed", False), span.get("start_tid"),
                                      span.get("end_tid"))
                  for thread in process["threads"] for span in thread["spans"]}
        self.assertEqual(placed, {"quiet.whole": (own, False, None, None), "quiet.part": (other, False, None, None),
                                  "quiet.handed": (other, False, own, other)})
        self.assertIn(f"[from thread {own} to {other}]", self.fathom("timeline", trace))

    @unittest.skipUnless(SCHEDULING, "the kernel tells this user's agent nothing")
    def test_a_timeline_says_when_a_thread_slept(self):
        writer = self.writer()
        numbers = iter(range(100))

        # A program's scheduling is recorded from a moment after its first span.
        def sleeps():
            writer.tell(f"hold restless.work.{next(numbers)} 200")
            trace = writer.answer()[0]
            self.capture_of("overdue", trace_id=trace)
            return "sleeping " in self.fathom("timeline", trace)
        until(sleeps, "a timeline has states")

    def test_a_crash_leaves_its_last_events(self):
        writer = self.writer()
        trace = writer.say("burst 50000")
        self.capture_of("program", trace_id=trace)
        writer.kill()
        row = self.capture_of("crash", service="writer")
        self.assertEqual(row["trace_id"], trace, "the span that was open belongs to it")
        text = self.fathom("timeline", trace, "--capture", row["id"])
        self.assertIn("bench.event", text)
        if SCHEDULING:
            self.assertIn("running ", text)
            self.assertIn("the process was killed by SIGKILL", text)

    def asked(self, *words):
        """The captures that `fathom capture` says it has made, as the server has them: each a summary."""
        nodes = json.loads(self.fathom("capture", *words, "--reason", "curious", "--format", "json"))
        rows = [self.server.ask(f"/api/v1/captures/{capture}") for node in nodes for capture in node["captures"]]
        for row in rows:
            self.assertEqual((row["trigger"], row["reason"]), ("requested", "curious"))
        return rows

    def events_of(self, row):
        return sum(thread["events"] for thread in row["threads"])

    def test_a_person_asks(self):
        writer, other = self.writer(), Writer(self.server.agent_socket, "other")
        self.addCleanup(other.kill)
        trace = writer.say("burst 50000")
        other.say("burst 50000")
        [row] = self.asked("--pid", str(writer.pid), "--duration", "60s")
        self.assertEqual((row["service"], row["pid"], row["trace_id"]), ("writer", writer.pid, ""))
        self.assertGreaterEqual(self.events_of(row), EVENTS_OF_50000)
        [row] = self.asked("--trace", trace)
        self.assertEqual((row["service"], row["pid"], row["trace_id"]), ("writer", writer.pid, trace))
        self.assertGreaterEqual(self.events_of(row), EVENTS_OF_50000)
        [row] = self.asked("--service", "other", "--duration", "60s")
        self.assertEqual((row["service"], row["pid"], row["trace_id"]), ("other", other.pid, ""))
        self.assertGreaterEqual(self.events_of(row), EVENTS_OF_50000)
        for stranger in (["--service", "nobody"], ["--pid", str(os.getpid())], ["--trace", "12" * 16]):
            self.fathom("capture", *stranger, "--duration", "100ms", check=1)

    def test_a_process_without_the_client_is_said_to_have_none(self):
        outcome = cli("capture", "--pid", str(os.getpid()), "--url", self.server.url, check=1)
        self.assertIn(f"process {os.getpid()} does not use fathom's client", outcome.stderr)

    def test_the_words_of_a_capture(self):
        writer = self.writer()
        writer.say("burst 1000")
        said = self.fathom("capture", "--pid", str(writer.pid), "--duration", "200ms")
        self.assertIn(self.capture_of("requested", service="writer")["id"], said)

    def test_what_lies_ahead_has_system_calls(self):
        writer = self.writer()
        writer.say("burst 1000")
        writer.tell("hold ahead.work 1000")
        nodes = json.loads(self.fathom("capture", "--pid", str(writer.pid), "--ahead", "--duration", "300ms",
                                       "--format", "json"))
        text = self.fathom("timeline", nodes[0]["captures"][0], "--all", "--limit", "0")
        if SCHEDULING:
            self.assertRegex(text, "nanosleep|select")

    @unittest.skipUnless(SCHEDULING, "the kernel tells this user's agent nothing")
    def test_a_timeline_has_the_system_calls_of_another_capture(self):
        writer = self.writer()
        writer.say("burst 1000")
        writer.tell("hold ahead.work 1000")
        self.fathom("capture", "--pid", str(writer.pid), "--ahead", "--duration", "2s", "--format", "json")
        trace = writer.answer()[0]
        until(lambda: self.captures_of_trace(trace), "a capture of the trace itself")
        rows = self.timeline(trace)["captures"]
        self.assertEqual({row["has_system_calls"] for row in rows}, {True, False}, rows)
        self.assertRegex(self.fathom("timeline", trace, "--limit", "0"), "nanosleep|select")

    def captures_of_trace(self, trace):
        """Asks for one; no node has any while the trace's spans are on their way."""
        return cli("capture", "--trace", trace, "--url", self.server.url, check=None).returncode == 0

    def test_tracepoints_of_the_fleet(self):
        writer = self.writer()
        writer.say("burst 1000")
        until(lambda: "bench.event" in self.fathom("tracepoints", "list"), "the tracepoint is known")
        self.fathom("tracepoints", "disable", "bench.*")

        def state():
            programs = json.loads(self.fathom("tracepoints", "list", "--format", "json"))
            return json.dumps(programs)
        until(lambda: '"on": false' in state() or '"on":false' in state(), "it is off")
        trace = writer.say("burst 1000")
        row = self.capture_of("program", trace_id=trace)
        self.assertNotIn("bench.event", self.fathom("timeline", trace, "--capture", row["id"]))
        self.fathom("tracepoints", "enable", "bench.*")
        until(lambda: '"on": true' in state() or '"on":true' in state(), "it is on again")

    def test_export(self):
        writer = self.writer()
        trace = writer.say("burst 50000")
        self.capture_of("program", trace_id=trace)
        writer.tell("end")
        until(lambda: self.server.trace(trace), "its span is stored")
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as directory:
            path = os.path.join(directory, "trace.pftrace")
            self.fathom("export", "--perfetto", path, trace)
            with open(path, "rb") as file:
                packets = [fields(packet) for packet in fields(file.read())[1]]
        self.look_at_packets(packets, writer.pid)

    def look_at_packets(self, packets, pid):
        """The numbers are those of proto/perfetto/trace.proto."""
        self.assertIn(6, packets[0], "the clocks come first")
        descriptors = [fields(one) for packet in packets for one in packet[60]]
        processes = [fields(one) for descriptor in descriptors for one in descriptor[3]]
        self.assertEqual([process[1] for process in processes], [[pid]])
        self.assertIn(b"writer", processes[0][6][0])
        tracks = {descriptor[1][0] for descriptor in descriptors}
        events = [fields(one) for packet in packets for one in packet[11]]
        self.assertLessEqual({event[11][0] for event in events}, tracks)
        begins = [event for event in events if event[9] == [1]]
        self.assertEqual([event[23] for event in begins if b"span" in event[22]], [[b"bench.burst"]])
        self.assertEqual(len(begins), sum(event[9] == [2] for event in events), "each slice ends")
        values = [self.annotations(event) for event in events if event[23] == [b"bench.event"]]
        self.assertEqual(sorted(one["number"] for one in values), list(range(EVENTS_OF_50000)))
        for one in values:
            self.assertEqual(one["check"], one["number"] * 0x9E3779B97F4A7C15 % 2**64)

    @staticmethod
    def annotations(event):
        return {one[10][0].decode(): one[3][0] for one in map(fields, event[4]) if one[3]}

    def test_the_shop_is_killed_in_the_middle_of_a_request(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as directory:
            self.kill_inventory(directory)

    def kill_inventory(self, directory):
        environment = {**os.environ, "FATHOM_AGENT_SOCKET": self.server.agent_socket}
        # The snapshot goes to a pipe that nobody empties: the mutex is held for ever, and requests wait.
        pipe = os.path.join(directory, "snapshot")
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        inventory = subprocess.Popen([SHOP, "inventory", "--listen", "127.0.0.1:0", "--snapshot", pipe,
                                      "--snapshot-every-ms", "500"], stdout=subprocess.PIPE, text=True, env=environment)
        self.addCleanup(inventory.stdout.close)
        self.addCleanup(inventory.wait)
        self.addCleanup(inventory.kill)
        address = inventory.stdout.readline().strip()
        catalog = self.service(["catalog", "--listen", "127.0.0.1:0", "--inventory", address], environment)
        gateway = self.service(["gateway", "--listen", "127.0.0.1:0", "--inventory", address, "--catalog", catalog],
                               environment)
        load = subprocess.Popen([SHOP, "load", "--gateway", gateway, "--seconds", "600", "--rate", "20"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        self.addCleanup(load.wait)
        self.addCleanup(load.kill)
        self.capture_of("overdue", service="inventory")
        inventory.send_signal(signal.SIGKILL)
        row = self.capture_of("crash", service="inventory")
        text = self.fathom("timeline", row["trace_id"], "--capture", row["id"], "--all")
        self.assertIn("shelves.wait", text)

    def service(self, words, environment):
        process = subprocess.Popen([SHOP, *words], stdout=subprocess.PIPE, text=True, env=environment)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process.stdout.readline().strip()


def new_parent():
    """Returns a new trace id, and the traceparent of a span in that trace."""
    trace = os.urandom(16).hex()
    return trace, f"00-{trace}-{os.urandom(8).hex()}-03"


class TwoNodes(unittest.TestCase):
    """A capture on one node triggers the capture of the trace on the other node; nothing else triggers it in these tests."""

    def start(self, arguments=(), agent_arguments=()):
        """Starts a server and a second agent; returns the server and the socket of that agent."""
        server = self.enterContext(Server(arguments=arguments))
        directory = self.enterContext(tempfile.TemporaryDirectory(prefix="fathom-test-"))
        other = os.path.join(directory, "other.sock")
        agent = subprocess.Popen([BIN / "fathom-agent", "--agent-socket", other, "--collector", server.ingest, "--state",
                                  os.path.join(directory, "state"), *agent_arguments], stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, agent)
        until(lambda: len(server.ask("/api/v1/nodes")["nodes"]) == 2, "both nodes are there")
        return server, other

    @staticmethod
    def end(agent):
        agent.terminate()
        agent.wait(PATIENCE_S)

    def test_the_other_node_contributes(self):
        self.look(*self.start())

    def test_the_other_node_contributes_what_comes_after_an_early_capture(self):
        # The period does not end during this test, so only the caller's capture can trigger the callee's.
        period = ["--slowest-period", "1h"]
        server, other = self.start(["--capture-threshold", "50ms", *period], period)
        caller, callee = Writer(server.agent_socket, "caller"), Writer(other, "callee")
        self.addCleanup(caller.kill)
        self.addCleanup(callee.kill)
        trace, parent = new_parent()
        caller.tell(f"hold caller.work 4000 {parent}")

        def windows(service):
            rows = server.ask("/api/v1/captures", {"trace_id": trace, "service": service})["captures"]
            return [(int(row["start_time_unix_nano"]), int(row["end_time_unix_nano"])) for row in rows]
        until(lambda: windows("caller"), "it was captured while it ran")
        self.assertEqual(windows("callee"), [])
        begun = time.time_ns()
        callee.say(f"hold callee.work 20 {parent}")
        ended = time.time_ns()
        caller.answer()
        [(begin, end)] = until(lambda: windows("callee"), "the callee is captured, too")
        # The callee ran for at least 20 ms between these instants. Clocks of two nodes on one host agree within 5 ms.
        self.assertLess(begin, ended - 15 * 10**6)
        self.assertGreater(end, begun + 15 * 10**6)

    def look(self, server, other):
        trace, parent = new_parent()
        writer, far, stranger = Writer(server.agent_socket), Writer(other, "far"), Writer(other, "stranger")
        try:
            far.tell(f"hold far.work 600000 {parent}")
            stranger.tell("hold other.work 600000")
            until(lambda: self.writing(server) >= {"far", "stranger"}, "both have written events in their spans")
            self.assertEqual(writer.say(f"burst 10000 {parent}"), trace)
            rows = until(lambda: self.both(server, trace), "the trace has captures of both nodes")
            self.judge(rows, far, writer)
        finally:
            for program in (writer, far, stranger):
                program.kill()

    @staticmethod
    def writing(server):
        nodes = json.loads(cli("tracepoints", "list", "--format", "json", "--url", server.url, check=0).stdout)
        return {program["service"] for node in nodes for program in node["programs"] if program["tracepoints"]}

    def judge(self, rows, far, writer):
        rows = {row["trigger"]: row for row in rows}
        self.assertEqual(set(rows), {"program", "remote"})
        self.assertEqual((rows["program"]["service"], rows["program"]["pid"]), ("writer", writer.pid))
        self.assertEqual((rows["remote"]["service"], rows["remote"]["pid"]), ("far", far.pid))
        self.assertNotEqual(rows["program"]["node_id"], rows["remote"]["node_id"])

    @staticmethod
    def both(server, trace):
        rows = server.ask("/api/v1/captures", {"trace_id": trace})["captures"]
        return rows if len(rows) > 1 else None


class Slowest(unittest.TestCase):
    """In each period, the slowest request of each operation has a capture, even if its duration is usual."""

    PERIOD_NANO = 3 * 10**9

    def setUp(self):
        self.server = Server(arguments=["--slowest-period", "3s"])
        self.enterContext(self.server)
        until(lambda: self.server.ask("/api/v1/nodes")["nodes"], "the node is connected")

    def run_requests(self, periods):
        """Runs requests of 1 to 40 ms; returns the begins of the whole periods that they fill."""
        writer = Writer(self.server.agent_socket)
        self.addCleanup(writer.kill)
        begun = time.time_ns()
        for number in range(10**6):
            writer.say(f"hold steady.work {number * 7 % 40 + 1}")
            if time.time_ns() - begun > (periods + 1) * self.PERIOD_NANO:
                break
        first = begun // self.PERIOD_NANO + 1
        return [number * self.PERIOD_NANO for number in range(first, first + periods)]

    def slowest(self, begin):
        rows = self.server.ask("/api/v1/slowest", {"by": "span", "service": "writer", "operation": "steady.work",
                                                   "from": begin, "to": begin + self.PERIOD_NANO, "limit": 1})["rows"]
        return rows[0]["trace_id"]

    def test_the_other_processes_of_the_slowest_are_captured(self):
        front, back = Writer(self.server.agent_socket, "front"), Writer(self.server.agent_socket, "back")
        self.addCleanup(front.kill)
        self.addCleanup(back.kill)
        trace, parent = new_parent()
        until(lambda: time.time_ns() % self.PERIOD_NANO < self.PERIOD_NANO // 6, "a period has begun")
        for _ in range(2):
            back.say("hold back.work 400")  # so that our trace's span is not among the slowest of its operation
        front.tell(f"hold front.work 200 {parent}")
        back.say(f"hold back.work 100 {parent}")
        front.answer()

        def services():
            return {row["service"] for row in self.server.ask("/api/v1/captures", {"trace_id": trace})["captures"]}
        until(lambda: services() == {"front", "back"}, "both processes have a capture")

    def test_a_request_that_is_slow_for_an_opentelemetry_sdk_is_captured(self):
        back = Writer(self.server.agent_socket, "back")
        self.addCleanup(back.kill)
        trace, parent = new_parent()
        until(lambda: time.time_ns() % self.PERIOD_NANO < self.PERIOD_NANO // 6, "a period has begun")
        for _ in range(2):
            back.say("hold back.work 400")  # so that our trace's span is not among the slowest of its operation
        back.say(f"hold back.work 100 {parent}")
        root = otlp.request("gateway", [otlp.span(trace, "GET /cart", 10**9, span=parent.split("-")[2])])

        def captures():
            otlp.send(self.server.otlp_http, root)  # again and again, like a sender that gets no answer
            return self.server.ask("/api/v1/captures", {"trace_id": trace})["captures"]
        [capture] = until(captures, "a capture", every=0.5)
        self.assertEqual((capture["service"], capture["trigger"]), ("back", "remote"))
        summary = self.server.ask(f"/api/v1/captures/{capture['id']}")
        self.assertEqual(summary["reason"], "another process of the trace has a slow request", "it was held")

    def test_the_slowest_of_each_period_is_captured(self):
        for begin in self.run_requests(periods=2):
            trace = self.slowest(begin)
            captures = until(lambda: self.server.ask("/api/v1/captures", {"trace_id": trace})["captures"],
                             f"a capture of {trace}")
            self.assertEqual(captures[0]["trigger"], "slow")
            summary = self.server.ask(f"/api/v1/captures/{captures[0]['id']}")
            self.assertIn("one of the slowest within", summary["reason"])
        kept = self.server.ask("/api/v1/captures", {"service": "writer", "limit": 1000})["captures"]
        self.assertLessEqual(len(kept), 2 * 4, "two of each period, the first and the last one included")


class Skipped(unittest.TestCase):
    """The timeline gives the reason if a process has no capture."""

    def setUp(self):
        self.server = Server(arguments=["--capture-threshold", "50ms"])
        self.enterContext(self.server)
        [self.node] = until(lambda: self.server.ask("/api/v1/nodes")["nodes"], "the node is connected")

    def no_captures(self, trace):
        answer = self.server.ask(f"/api/v1/traces/{trace}/timeline")
        return {process["service"]: process["no_capture"] for process in answer["processes"] if "no_capture" in process}

    def test_what_an_agent_skipped(self):
        writer = Writer(self.server.agent_socket)
        self.addCleanup(writer.kill)
        # In ten seconds, at most one span per operation is captured while it runs. The two slowest of a minute are
        # captured, too; the longer requests around these are the slowest, wherever the minute ends.
        longer = ["hold patient.work 400"] * 2
        said = [writer.say(line) for line in longer + ["hold patient.work 200"] * 4 + longer]
        traces = said[2:-2]
        for trace in said:
            until(lambda trace=trace: self.server.trace(trace), "its span is stored")

        def skipped():
            return [(trace, none["writer"]) for trace in traces if (none := self.no_captures(trace))
                    and none["writer"]["reason"] == "operation"]
        trace, none = until(skipped, "the agent has said what it skipped")[0]
        self.assertEqual((none["node"], none["trigger"]), (self.node["host_name"], "overdue"))
        text = cli("timeline", trace, "--url", self.server.url, check=0).stdout
        # The previous request's capture covers a short time after that request.
        self.assertRegex(text, f"(nothing was captured|not captured for this request): the agent on "
                               f"{self.node['host_name']} skipped its capture")
        self.assertEqual(self.server.ask("/api/v1/captures", {"trace_id": trace})["captures"], [])

    def test_nodes_say_what_their_agents_capture(self):
        self.assertIs(self.node["captures_off"], False)
        self.assertIs(self.node["reports_skipped_captures"], True)
        self.assertEqual(self.node["slowest_period_nano"], 60 * 10**9)
        with Server(arguments=["--no-captures"]) as server:
            [node] = until(lambda: server.ask("/api/v1/nodes")["nodes"], "the node is connected")
        self.assertIs(node["captures_off"], True)
        self.assertIs(node["reports_skipped_captures"], False)
        self.assertEqual(node["slowest_period_nano"], 0)

    def test_what_no_agent_knows(self):
        trace = otlp.trace_id()
        otlp.send(self.server.otlp_http, otlp.request("web", [otlp.span(trace, "GET /", 10**9)]))
        otlp.send(self.server.otlp_http,
                  otlp.request("far", [otlp.span(trace, "GET /", 10**9)], **{"host.name": "no-such-host"}))
        until(lambda: self.server.trace(trace), "they are stored")
        none = until(lambda: len(found := self.no_captures(trace)) == 2 and found, "both are stored")
        self.assertEqual({service: one["reason"] for service, one in none.items()}, {"web": "no_client", "far": "no_agent"})
        self.assertIn("no-such-host", none["far"]["explanation"])
        self.assertIn("does not use fathom's client", none["web"]["explanation"])


if __name__ == "__main__":
    main()
