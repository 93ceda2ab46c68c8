"""From an overdue span to a snapshot that the server lists under its trace, by an agent whose Intel PT is a stand-in."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from harness.main import main
from harness.server import BIN, PATIENCE_S, Server, cli, until

WRITER = str(BIN / "capture_writer")


class AgentSnapshots(unittest.TestCase):
    def start(self, *flags, stand_in=True):
        os.environ["FATHOM_PT_STAND_IN"] = "1" if stand_in else "0"
        self.addCleanup(os.environ.pop, "FATHOM_PT_STAND_IN", None)
        self.server = Server(arguments=["--capture-threshold", "50ms", "--pt", "--pt-buffer-mib", "1",
                                        "--agent-http", "127.0.0.1:0", *flags])
        self.enterContext(self.server)

    def say(self, line):
        """What a program does, and the trace of it."""
        environment = {**os.environ, "FATHOM_AGENT_SOCKET": self.server.agent_socket, "OTEL_SERVICE_NAME": "writer"}
        outcome = subprocess.run([WRITER], input=line + "\n", stdout=subprocess.PIPE, text=True, env=environment,
                                 timeout=PATIENCE_S, check=False)
        return outcome.stdout.split()[0]

    def records(self):
        """Whether this user may have events of perf at all."""
        until(lambda: "records nothing" in self.server.log_text() or "does not record" in self.server.log_text(), "its word")
        if "does not record" in self.server.log_text():
            self.skipTest(next(line for line in self.server.log_text().splitlines() if "does not record" in line))

    def snapshots(self, **filters):
        return self.server.ask("/api/v1/snapshots", filters)["snapshots"]

    def test_an_overdue_span_is_a_snapshot_of_its_trace(self):
        self.start()
        self.records()
        trace = self.say("hold patient.work 3000")
        row = until(lambda: self.snapshots(trace_id=trace), "its snapshot")[0]
        self.assertEqual((row["engine"], row["trigger"]["reason"]), ("stand_in", "overdue"))
        self.assertEqual(row["trigger"]["trace_id"], trace)
        self.assertEqual(row["command"], f"the programs of user {os.geteuid()}")
        spans = until(lambda: (self.server.trace(trace) or {}).get("spans"), "its spans")
        self.assertIn(row["trigger"]["span_id"], [span["span_id"] for span in spans])
        for command in ("trace", "timeline"):
            text = cli(command, trace, "--url", self.server.url, check=0).stdout
            self.assertIn(row["id"], text)
            self.assertIn("by a stand-in: nothing was recorded", text)
        pulled = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.addCleanup(pulled.cleanup)
        cli("snapshot", "pull", row["id"], "--directory", pulled.name, "--url", self.server.url, check=0)
        self.assertIn("stand-in", cli("snapshot", "list", "--directory", pulled.name, check=0).stdout)
        # The images of who ran came before it, and nothing is left on the node.
        self.assertLess(row["missing_images"], row["images"], row)
        until(lambda: not list(pathlib.Path(self.server.data, "agent/snapshots/snapshots").iterdir()), "it is sent")

    def test_a_program_and_a_person_ask(self):
        self.start()
        self.records()
        trace = self.say("burst 1000")
        until(lambda: self.snapshots(trace_id=trace), "the program's own")
        writer = subprocess.Popen([WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "FATHOM_AGENT_SOCKET": self.server.agent_socket})
        with writer:
            writer.stdin.write("burst 1000\n")
            writer.stdin.flush()
            writer.stdout.readline()
            cli("capture", "--pid", str(writer.pid), "--url", self.server.url, check=0)
            until(lambda: [row for row in self.snapshots() if row["trigger"]["reason"] == "requested"], "a person's")
            writer.stdin.close()

    def test_a_function_that_is_reached_is_a_snapshot_of_the_span_that_is_open(self):
        self.start("--pt-symbol", f"{WRITER}:write_event")
        self.records()
        writer = subprocess.Popen([WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "FATHOM_AGENT_SOCKET": self.server.agent_socket})
        with writer:
            # It is waited for from a moment after the program's first span.
            def reached():
                if "is not waited for" in self.server.log_text():
                    self.skipTest(next(line for line in self.server.log_text().splitlines() if "is not waited for" in line))
                writer.stdin.write("burst 1000\n")
                writer.stdin.flush()
                writer.stdout.readline()
                return [row for row in self.snapshots() if row["trigger"]["reason"] == "symbol"]
            row = until(reached, "its snapshot", every=0.2)[0]
            self.assertEqual(row["trigger"]["tid"], writer.pid)
            self.assertTrue(row["trigger"]["trace_id"], row)
            writer.stdin.close()

    def test_a_host_that_cannot_says_so_once_and_goes_on(self):
        self.start(stand_in=False)
        until(lambda: "Intel PT" in self.server.log_text(), "its word")
        if "Intel PT records the whole node" in self.server.log_text():
            self.skipTest("this host has Intel PT")
        line = next(line for line in self.server.log_text().splitlines() if "Intel PT does not record" in line)
        self.assertIn("; ", line, "the cure")
        trace = self.say("hold patient.work 500")
        until(lambda: self.server.ask("/api/v1/captures", {"trace_id": trace})["captures"], "captures are made all the same")


if __name__ == "__main__":
    main()
