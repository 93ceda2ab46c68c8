"""Programs that scribble over their whole memory of events while captures are made of it: nobody else notices."""

import collections
import json
import mmap
import os
import pathlib
import random
import signal
import struct
import subprocess
import unittest

from harness.main import main
from harness.server import BIN, Server, cli, until
from harness.stranger import DETAIL_OFFER_MAGIC, Stranger, wild_word

WRITER = str(BIN / "capture_writer")
PAGE, STRIDE, CHUNK_END = 4096, 128 * 1024, 64 * 1024
PROCESS_ID = slice(48, 64)  # in a detail pool's header
EVENT_BYTES = 32  # as capture_writer counts them
ROUNDS = 5


class Program:
    """A capture_writer."""

    def __init__(self, server, service):
        environment = {"FATHOM_AGENT_SOCKET": server.agent_socket, "OTEL_SERVICE_NAME": service, "FATHOM_DETAIL_MIB": "1"}
        self.process = subprocess.Popen([WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()[0]

    def pool(self, name):
        links = pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir()
        return next(link for link in links if f"memfd:{name}" in os.readlink(link)).read_bytes()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Scribbler:
    """Wild words all over a detail pool: its header, its entries, its table, its chunks. What was there before comes
    back now and then, so that a reader goes on from one to the other."""

    def __init__(self, view, seed):
        self.view, self.chance = view, random.Random(seed)
        self.before = bytes(view)
        large, small = struct.unpack_from("<II", self.before, 20)
        table, chunks = struct.unpack_from("<QQ", self.before, 32)
        self.areas = [(0, PAGE), (PAGE, 64 * (large + small)), (table, 1024)]
        for number in range(large + small):
            size = 64 * 1024 if number < large else 4096
            self.areas.append((chunks + number * STRIDE + CHUNK_END - size, size))

    def __call__(self):
        for _ in range(100):
            # As often in what describes the chunks as in one of them.
            begin, size = self.chance.choice(self.areas[:3] if self.chance.random() < 0.5 else self.areas)
            at = begin + self.chance.randrange(0, size - 8, 4)
            self.view[at:at + 8] = wild_word(self.chance) if self.chance.random() < 0.5 else self.before[at:at + 8]
        if self.chance.random() < 0.1:
            self.view[:] = self.before


class HostileDetail(Stranger, unittest.TestCase):
    def setUp(self):
        self.server = Server(arguments=["--capture-threshold", "50ms"])
        self.enterContext(self.server)

    def program(self, service):
        program = Program(self.server, service)
        self.addCleanup(program.kill)
        return program

    def pools(self):
        """The span pool and the detail pool of a real program, in the middle of a span, as those of another process."""
        program = self.program("model")
        program.say("burst 1500000")
        spans, detail = program.pool("fathom-pool"), program.pool("fathom-detail")
        program.kill()
        before, own = detail[PROCESS_ID], os.urandom(16)
        return [pool[:PAGE].replace(before, own, 1) + pool[PAGE:] for pool in (spans, detail)]

    def hand_over(self, spans, detail):
        """By a process of its own, on one connection, as a program does. That process, and the detail pool's mapping."""
        first, second = self.memory(spans), self.memory(detail)
        told, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                peer = self.offer(first, len(spans))
                self.taken(peer)
                self.offer_on(peer, second, struct.pack("<IIQ", DETAIL_OFFER_MAGIC, 1, len(detail)))
                self.taken(peer)
                os.write(tell, b"!")
                signal.pause()
            finally:
                os._exit(1)
        self.addCleanup(self.end, pid)
        os.close(tell)
        with os.fdopen(told, "rb") as words:
            self.assertEqual(words.read(1), b"!", "the agent does not take it")
        return pid, mmap.mmap(second, len(detail))

    @staticmethod
    def end(pid):
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass  # once is enough

    def taken(self, peer):
        answer = self.answered(peer)
        while len(answer) != 32:  # what it says of tracepoints
            self.assertNotEqual(answer, b"", "the connection has ended")
            answer = self.answered(peer)
        self.assertEqual(struct.unpack_from("<III", answer)[2], 0)

    def capture(self, *words):
        """What the node answers, in time; those that it has made."""
        said = cli("capture", *words, "--duration", "60s", "--format", "json", "--url", self.server.url)
        [node] = json.loads(said.stdout)
        self.assertEqual(node["failure"], "", said)
        self.assertEqual(said.returncode, 0 if node["captures"] else 1, said)
        return node["captures"]

    def captures(self, **filters):
        return self.server.ask("/api/v1/captures", {"limit": 1000, **filters})["captures"]

    def node(self):
        [node] = self.server.ask("/api/v1/nodes")["nodes"]
        return node["node_id"]

    def an_honest_capture(self):
        program = self.program("honest")
        trace = program.say("burst 50000")
        [row] = until(lambda: [row for row in self.captures(trace_id=trace) if row["trigger"] == "program"], "its capture")
        document = self.server.ask(f"/api/v1/captures/{row['id']}")
        self.assertEqual(sum(thread["events"] for thread in document["threads"]), 50000 // EVENT_BYTES)
        program.kill()

    def captured_for(self, pid):
        """How often for which trigger; all can be decoded."""
        rows = self.captures(pid=pid, node_id=self.node())
        for row in rows:
            self.assertNotIn("problem", self.server.ask(f"/api/v1/captures/{row['id']}"))
            self.server.ask(f"/api/v1/captures/{row['id']}/timeline", {"limit": 100})
        return dict(collections.Counter(row["trigger"] for row in rows))

    def test_while_captures_are_made(self):
        seed = random.SystemRandom().randrange(2**32)
        print(f"seed {seed}", flush=True)
        spans, detail = self.pools()
        pid, view = self.hand_over(spans, detail)
        agent = self.server.agent_pid()
        self.assertEqual(len(self.capture("--pid", str(pid))), 1, "as long as it is a good pool, it is captured")
        self.meanwhile(Scribbler(view, seed))
        for _ in range(ROUNDS):
            for _ in range(3):
                self.capture("--pid", str(pid))
            self.an_honest_capture()
        self.end(pid)
        until(lambda: self.captures(pid=pid, node_id=self.node(), trigger="crash"), "its last moments, such as they are")
        self.an_honest_capture()
        print("captured for:", self.captured_for(pid))
        self.assertEqual(self.server.agent_pid(), agent, f"the agent died on the way (seed {seed})")


if __name__ == "__main__":
    main()
