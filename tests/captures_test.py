"""From a slow request to what its threads did: triggers, captures, timelines and exports, over the real programs."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from harness.main import main
from harness.server import BIN, PATIENCE_S, Server, cli, until

SHOP = str(BIN / "shop")
WRITER = str(BIN / "capture_writer")


class Writer:
    """capture_writer: does what a line says, and answers with the trace."""

    def __init__(self, agent_socket, service="writer"):
        self.process = subprocess.Popen([WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "FATHOM_AGENT_SOCKET": agent_socket,
                                             "OTEL_SERVICE_NAME": service})
        self.pid = self.process.pid

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().split()

    def say(self, line):
        self.tell(line)
        return self.answer()[0]

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def scheduling_is_told():
    """Whether this user's agent may record context switches."""
    sources = subprocess.run([BIN / "fathom-agent", "--print-sources"], capture_output=True, text=True, check=True).stdout
    told = {source["name"]: source for source in json.loads(sources)}["context switches"]
    if not told["available"]:
        print("no states of threads are looked for:", told["why_not"], told["cure"], file=sys.stderr)
    return told["available"]


SCHEDULING = scheduling_is_told()


class Captures(unittest.TestCase):
    def setUp(self):
        self.server = Server(arguments=["--capture-threshold", "50ms"])
        self.enterContext(self.server)

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

    def test_a_person_asks(self):
        writer = self.writer()
        trace = writer.say("burst 50000")
        said = self.fathom("capture", "--pid", str(writer.pid), "--duration", "200ms")
        row = self.capture_of("requested", service="writer")
        self.assertIn(row["id"], said)
        self.fathom("capture", "--trace", trace)
        self.fathom("capture", "--service", "writer", "--duration", "100ms")
        self.assertNotEqual(cli("capture", "--service", "nobody", "--duration", "100ms", "--url", self.server.url).returncode, 0)

    def test_what_lies_ahead_has_system_calls(self):
        writer = self.writer()
        writer.say("burst 1000")
        writer.tell("hold ahead.work 1000")
        nodes = json.loads(self.fathom("capture", "--pid", str(writer.pid), "--ahead", "--duration", "300ms",
                                       "--format", "json"))
        text = self.fathom("timeline", nodes[0]["captures"][0], "--all", "--limit", "0")
        if SCHEDULING:
            self.assertRegex(text, "nanosleep|select")

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
        trace = self.writer().say("burst 100000")
        self.capture_of("program", trace_id=trace)
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as directory:
            path = os.path.join(directory, "trace.pftrace")
            self.fathom("export", "--perfetto", path, trace)
            self.assertGreater(os.path.getsize(path), 1000)

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


class TwoNodes(unittest.TestCase):
    """The second node of a trace is asked when the first is triggered: nothing else makes it capture anything here."""

    def test_the_other_node_contributes(self):
        with Server() as server, tempfile.TemporaryDirectory(prefix="fathom-test-") as directory:
            other = os.path.join(directory, "other.sock")
            agent = subprocess.Popen([BIN / "fathom-agent", "--agent-socket", other, "--collector", server.ingest,
                                      "--state", os.path.join(directory, "state")], stderr=subprocess.DEVNULL)
            try:
                until(lambda: len(server.ask("/api/v1/nodes")["nodes"]) == 2, "both nodes are there")
                self.look(server, other)
            finally:
                agent.terminate()
                agent.wait(PATIENCE_S)

    def look(self, server, other):
        trace = os.urandom(16).hex()
        parent = f"00-{trace}-{os.urandom(8).hex()}-03"
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


if __name__ == "__main__":
    main()
