"""A program's events and its agent: the memory comes late, outlives agents and its program, and tracepoints are switched."""

import json
import os
import signal
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

from harness.main import main
from harness.ports import free_port
from harness.server import BIN, Server, cli, until


class Victim:
    """client_victim, which makes its first event when it is told to."""

    def __init__(self, agent_socket):
        self.process = subprocess.Popen([BIN / "client_victim", "late-event"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, "FATHOM_AGENT_SOCKET": agent_socket,
                                                        "OTEL_SERVICE_NAME": "victim"})
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == word + "\n"

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Tracepoints(unittest.TestCase):
    def setUp(self):
        self.agent_http = f"http://127.0.0.1:{free_port()}"
        self.server = Server(arguments=["--agent-http", self.agent_http.removeprefix("http://")])
        self.enterContext(self.server)
        self.program = Victim(self.server.agent_socket)
        self.addCleanup(self.program.kill)

    def ask(self, path, method="GET", **headers):
        request = urllib.request.Request(self.agent_http + path, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    def switch(self, **query):
        self.ask("/tracepoints?" + urllib.parse.urlencode(query), "POST")

    def switches(self):
        """Name -> whether it is on, of the program; nothing while the agent (or its memory) is not there."""
        try:
            programs = json.loads(self.ask("/tracepoints"))
        except (urllib.error.URLError, ConnectionError):
            return None
        [mine] = [one for one in programs if one["pid"] == self.program.pid] or [None]
        return mine and {point["name"]: point["on"] for point in mine["tracepoints"]}

    def metric(self, name):
        try:
            lines = self.ask("/metrics").splitlines()
        except (urllib.error.URLError, ConnectionError):
            return None
        return next((int(line.split()[1]) for line in lines if line.startswith(name + " ")), None)

    def replace_agent(self):
        victim = self.server.agent_pid()
        os.kill(victim, signal.SIGKILL)
        until(lambda: self.server.agent_pid() not in (None, victim), "the next agent")

    def texts_in_pool(self):
        """What the agent's detail pools hold, as raw bytes: as little of the file as has memory."""
        folder = f"/proc/{self.server.agent_pid()}/fd"
        found = b""
        for name in os.listdir(folder):
            try:
                if "fathom-detail" not in os.readlink(f"{folder}/{name}"):
                    continue
                with open(f"{folder}/{name}", "rb") as pool:
                    found += self.data_of(pool.fileno())
            except FileNotFoundError:
                continue  # one that the listing itself had open
        return found

    @staticmethod
    def data_of(descriptor):
        end, at, data = os.fstat(descriptor).st_size, 0, b""
        while at < end:
            try:
                at = os.lseek(descriptor, at, os.SEEK_DATA)
            except OSError:
                break
            until_here = os.lseek(descriptor, at, os.SEEK_HOLE)
            data += os.pread(descriptor, until_here - at, at)
            at = until_here
        return data

    def is_readable(self, text):
        return text in self.texts_in_pool()

    def test_the_memory_outlives_agents_and_its_program(self):
        until(lambda: self.metric("fathom_agent_programs") == 1, "the program at the agent")
        self.assertEqual(self.metric("fathom_agent_detail_pools"), 0)
        self.program.say("text first words")
        until(lambda: self.metric("fathom_agent_detail_pools") == 1, "its detail pool at the agent")
        self.replace_agent()
        self.program.say("text between agents")
        until(lambda: self.metric("fathom_agent_detail_pools") == 1, "the pool at the next agent")
        self.assertTrue(self.is_readable(b"text first words"))
        self.program.say("text last words")
        self.program.kill()
        until(lambda: self.metric("fathom_agent_programs") == 0, "the program's end")
        self.assertEqual(self.metric("fathom_agent_detail_pools"), 1)
        self.assertTrue(self.is_readable(b"text last words"))
        # Nobody but the supervisor has it now.
        self.replace_agent()
        until(lambda: self.metric("fathom_agent_detail_pools") == 1, "the dead program's pool at the next agent")
        self.assertTrue(self.is_readable(b"text between agents"))
        self.assertTrue(self.is_readable(b"text last words"))

    def test_patterns_switch_a_running_program(self):
        self.program.say("event")
        as_written = {"victim.event": True, "victim.quiet": False}
        until(lambda: self.switches() == as_written, "its tracepoints at the agent")
        self.switch(patterns="victim.quiet", pid=self.program.pid)
        until(lambda: self.switches() == {"victim.event": True, "victim.quiet": True}, "one that is on now")
        self.assertRegex(self.server.log_text(), r'audit \{.*"scope":"control","request":"POST /tracepoints\?')
        self.switch(patterns="-victim.*", service="victim")
        until(lambda: self.switches() == {"victim.event": False, "victim.quiet": False}, "all of them off")
        self.switch(patterns="victim.*", service="another")
        other = Victim(self.server.agent_socket)
        self.addCleanup(other.kill)
        self.program, first = other, self.program
        self.program.say("event")
        until(lambda: self.switches() == {"victim.event": False, "victim.quiet": False}, "what holds for those that come later")
        self.program = first
        self.replace_agent()
        until(lambda: self.switches() == as_written, "what an agent says is void with the next one")

    def tracepoints(self, *words):
        """What `fathom tracepoints` says of the program: name -> whether it is on."""
        rows = json.loads(cli("tracepoints", *words, "--format", "json", "--url", self.server.url, check=0).stdout)
        return {point["name"]: point["on"] for node in rows for program in node["programs"]
                if program["pid"] == self.program.pid for point in program["tracepoints"]}

    def test_the_command_line_says_what_the_program_does(self):
        self.program.say("event")
        until(lambda: any(node["connected"] for node in self.server.ask("/api/v1/nodes")["nodes"]), "the agent at the server")
        until(lambda: self.tracepoints("list") == {"victim.event": True, "victim.quiet": False}, "its tracepoints at the server")
        # Programs that take longer than a second to obey are answered for as they are.
        self.assertEqual(self.tracepoints("disable", "v?ctim.*t").keys(), {"victim.event", "victim.quiet"})
        until(lambda: self.tracepoints("list") == {"victim.event": False, "victim.quiet": False}, "all of them off")
        self.assertEqual(self.tracepoints("enable", "victim.qui?t").keys(), {"victim.quiet"})
        until(lambda: self.tracepoints("list", "victim.?????") == {"victim.event": False, "victim.quiet": True}, "one that is on")
        # One that cannot hear is not said to have obeyed.
        os.kill(self.program.pid, signal.SIGSTOP)
        self.assertEqual(self.tracepoints("disable", "victim.*"), {"victim.event": False, "victim.quiet": True})
        os.kill(self.program.pid, signal.SIGCONT)
        until(lambda: self.tracepoints("list") == {"victim.event": False, "victim.quiet": False}, "what it was told meanwhile")

    def start_node(self, name):
        """Another host, as far as the server can tell: an agent of its own, and its socket."""
        folder = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.addCleanup(folder.cleanup)
        agent_socket = f"{folder.name}/{name}.sock"
        agent = subprocess.Popen([BIN / "fathom-agent", "--agent-socket", agent_socket, "--collector", self.server.ingest,
                                  "--state", f"{folder.name}/state"], stderr=subprocess.DEVNULL)

        def stop():
            agent.kill()
            agent.wait()
        self.addCleanup(stop)
        until(lambda: os.path.exists(agent_socket), "another agent")
        return agent_socket

    def rules(self):
        rows = json.loads(cli("tracepoints", "rules", "--format", "json", "--url", self.server.url, check=0).stdout)
        return [(row["action"], row["pattern"], row["service"]) for row in rows]

    def test_nodes_and_agents_that_come_later_obey(self):
        wanted = {"victim.event": False, "victim.quiet": True}
        said = [("enable", "victim.qu*", "victim"), ("disable", "*.event", "")]
        self.assertEqual(self.rules(), [])
        self.tracepoints("enable", "victim.*", "--service", "victim")
        self.tracepoints("enable", "victim.qu*", "--service", "victim")
        self.tracepoints("disable", "*", "--service", "victim")  # in place of both
        self.tracepoints("enable", "victim.qu*", "--service", "victim")
        self.tracepoints("disable", "*.event")
        self.assertEqual(self.rules(), [("disable", "*", "victim"), *said])
        self.program.say("event")
        until(lambda: self.tracepoints("list") == wanted, "the program here")
        # A node that connects when all was said, with programs that start behind its agent.
        first, self.program = self.program, Victim(self.start_node("later"))
        self.addCleanup(self.program.kill)
        self.program.say("event")
        until(lambda: self.tracepoints("list") == wanted, "a program of another node")
        # The next agent of this node, and the next server, know nothing by themselves.
        self.program = first
        self.replace_agent()
        until(lambda: self.switches() == wanted, "the program at the next agent")
        server = self.server.pid()
        os.kill(server, signal.SIGKILL)
        until(lambda: self.server.pid() not in (None, server) and self.server.ready(), "the next server")
        self.assertEqual(self.rules(), [("disable", "*", "victim"), *said])
        self.replace_agent()
        until(lambda: self.switches() == wanted, "an agent that the next server has told")

    def test_what_may_not_be_switched(self):
        for query, headers, status in ((f"pid={2**31 - 1}&patterns=a", {}, 404), ("pid=x&patterns=a", {}, 400), ("", {}, 400),
                                       ("patterns=a", {"Origin": "http://elsewhere"}, 403)):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                until(lambda: self.metric("fathom_agent_programs") is not None, "the agent")
                self.ask("/tracepoints?" + query, "POST", **headers)
            self.assertEqual(refused.exception.code, status)
            refused.exception.close()


if __name__ == "__main__":
    main()
