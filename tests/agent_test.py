"""A traced program notices nothing of its agent's fate, and nobody's misbehaviour reaches the others."""

import collections
import mmap
import os
import pathlib
import random
import signal
import socket
import statistics
import struct
import time
import unittest

from harness.main import main
from harness.server import Server, until
from harness.spans import SPANS_PER_TRACE, Writer, await_all, numbers_of
from harness.stranger import OFFER_MAGIC, Stranger, wild_word

SANITIZED = bool(os.environ.get("FATHOM_SANITIZED"))


class AgentTest(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.enterContext(self.server)
        self.environment = {"FATHOM_AGENT_SOCKET": self.server.agent_socket}

    def start(self, program, *flags, **more):
        writer = Writer(self.server.sockets.name, program, *flags, environment=self.environment, **more)
        self.addCleanup(writer.kill)
        until(writer.ready, "its first span")
        return writer


class Fate(AgentTest):
    def more_spans(self, writer, count=4000):
        seen = writer.finished()
        until(lambda: writer.finished() > seen + count, "the program goes on")

    def replace_agent(self):
        victim = self.server.agent_pid()
        os.kill(victim, signal.SIGKILL)
        until(lambda: self.server.agent_pid() not in (None, victim), "the next agent")

    def test_no_call_waits_for_an_agent(self):
        """The thread never gives its processor away, whatever happens to the agent. A call may be interrupted by others
        that want the processor, but what it does itself is done in no time. Nothing is lost: the program has more
        memory than it can fill in that time, however slowly a busy machine lets the agents and the server come to work.
        (The usual 16 MiB are a few seconds of it, and what comes beyond is a loss with a reason.)"""
        self.environment["FATHOM_POOL_MIB"] = "256"
        writer = self.start(1, "--rate", 20000, "--spin")
        self.more_spans(writer)
        os.kill(self.server.agent_pid(), signal.SIGSTOP)
        self.more_spans(writer)
        os.kill(self.server.agent_pid(), signal.SIGCONT)
        self.more_spans(writer)
        os.kill(self.server.agent_pid(), signal.SIGSTOP)
        self.replace_agent()
        self.more_spans(writer)
        for _ in range(3):
            self.replace_agent()
            self.more_spans(writer, 1000)
        writer.kill()
        [slot] = writer.slots()
        print(f"{slot.finished} spans, longest {slot.longest_nano / 1e6:.3f} ms by the wall, {slot.slow_calls} of more than "
              f"1 ms, of these {slot.longest_cpu_us} us its own at most; {slot.waits} waits")
        self.assertEqual(slot.waits, 0)
        # A machine may charge what its host takes away, or an interrupt, to the thread that it hits: milliseconds.
        self.assertLess(slot.longest_cpu_us, 20000)
        verdict = await_all(self.server, writer)
        self.assertEqual(verdict.lost, 0, f"{verdict}; the node says {self.reported_losses()}")

    def test_a_full_pool_is_a_counted_loss_and_no_wait(self):
        self.environment["FATHOM_POOL_MIB"] = "1"
        os.kill(self.server.agent_pid(), signal.SIGSTOP)
        writer = self.start(1, "--rate", 50000, "--spin")
        until(lambda: writer.lost() > 1000, "losses")
        os.kill(self.server.agent_pid(), signal.SIGCONT)
        lost = writer.lost()
        until(lambda: writer.finished() > lost + 100000, "spans after the losses")
        writer.kill()
        self.assertEqual(writer.slots()[0].waits, 0)
        verdict = await_all(self.server, writer)
        self.assertGreaterEqual(verdict.missing, verdict.lost - 1)
        # What is lost is told, also to whoever looks at the node from afar.
        until(lambda: self.reported_losses()["pool_full"] >= verdict.lost, "the loss in /api/v1/nodes", 60)

    def test_what_is_lost_is_told_once_whoever_is_killed(self):
        """Agents are killed between two reports, when each has counted losses that it has told nobody of. (Killed while the
        answer to a report is on its way, it would make its losses count twice.)"""
        self.environment["FATHOM_POOL_MIB"] = "1"
        writer = self.start(1, "--rate", 50000, "--spin")
        for _ in range(2):
            told = self.told_losses()
            until(lambda before=told: self.told_losses() > before, "a report with losses")
            self.lose_some(writer)
            self.replace_agent()
        self.lose_some(writer)
        writer.kill()
        until(lambda: self.told_losses() >= writer.lost(), "all losses in /metrics", 60)
        self.assertLessEqual(self.told_losses(), writer.lost() + 1, "a killed program may have counted one more than it said")

    def lose_some(self, writer):
        """While the agent does not look; it counts them as soon as it does."""
        agent = self.server.agent_pid()
        os.kill(agent, signal.SIGSTOP)
        lost = writer.lost()
        until(lambda: writer.lost() > lost + 1000, "losses")
        os.kill(agent, signal.SIGCONT)
        finished = writer.finished()
        until(lambda: writer.finished() > finished + 10000, "the agent makes room")

    def told_losses(self):
        return int(self.server.metrics()['fathom_lost_on_nodes_total{kind="spans",reason="pool_full"}'])

    def reported_losses(self):
        losses = collections.Counter()
        for node in self.server.ask("/api/v1/nodes")["nodes"]:
            losses.update({loss["reason"]: loss["count"] for loss in node["losses"]})
        return losses


class Strangers(Stranger, AgentTest):
    def a_real_pool(self):
        """The bytes of a pool that a real program has filled."""
        writer = self.start(99, "--rate", 5000)
        until(lambda: writer.finished() > 2000, "spans")
        path = next(link for link in pathlib.Path(f"/proc/{writer.process.pid}/fd").iterdir()
                    if "memfd:" in os.readlink(link))
        pool = path.read_bytes()
        writer.kill()
        return pool

    def arrives_in(self, writer):
        """How long the span that the program finishes next takes until it is found."""
        number = writer.finished()
        until(lambda: writer.finished() > number, "another span")
        begin = time.monotonic()
        until(lambda: number in numbers_of(self.server, writer.program, 0, number // SPANS_PER_TRACE), "an honest program's span")
        return time.monotonic() - begin

    def others_are_served(self, writer, rounds=10):
        times = [self.arrives_in(writer) for _ in range(rounds)]
        print(f"an honest span is found after {statistics.median(times) * 1000:.0f} ms, {max(times) * 1000:.0f} at most")
        self.assertLess(statistics.median(times), 10 if SANITIZED else 0.5)

    def test_what_is_no_pool_is_refused(self):
        honest, agent = self.start(1, "--rate", 100), self.server.agent_pid()
        with open("/dev/zero", "rb") as zero, open(__file__, "rb") as script, open("/proc/self/maps", "rb") as odd:
            for stranger in (zero, script, odd):
                self.assertNotEqual(self.verdict(stranger.fileno(), 8 << 20), 0)
        directory = os.open("/", os.O_RDONLY)
        self.addCleanup(os.close, directory)
        self.assertNotEqual(self.verdict(directory, 4096), 0)
        pool = self.a_real_pool()
        self.assertNotEqual(self.verdict(self.memory(pool, seal=False), len(pool)), 0, "it could be cut under the reader")
        for size in (0, 1, 4096, len(pool) - 1, len(pool) + 1, 2**63, 2**64 - 1):
            self.assertNotEqual(self.verdict(self.memory(pool), size), 0, f"size {size}")
        self.assertNotEqual(self.verdict(self.memory(range(2**40)), 2**40), 0, "a terabyte of nothing")
        for message in (b"\0", os.urandom(16), os.urandom(5000), struct.pack("<IIQ", OFFER_MAGIC, 77, len(pool))):
            self.answered(self.offer(self.memory(pool), len(pool), message))
        self.answered(self.offer(None, len(pool)))
        self.others_are_served(honest)
        self.assertEqual(self.server.agent_pid(), agent, "the agent died on the way")

    def test_memory_that_changes_while_it_is_read(self):
        seed = random.SystemRandom().randrange(2**32)
        print(f"seed {seed}", flush=True)
        chance = random.Random(seed)
        honest, agent = self.start(1, "--rate", 100), self.server.agent_pid()
        pool = self.a_real_pool()
        views = []
        for _ in range(4):
            memory = self.memory(pool)
            self.assertEqual(len(self.answered(self.offer(memory, len(pool)))), 32)
            views.append(mmap.mmap(memory, len(pool)))
        self.meanwhile(lambda: self.scribble(views, chance))
        self.others_are_served(honest, 20)
        self.assertEqual(self.server.agent_pid(), agent, f"the agent died on the way (seed {seed})")

    @staticmethod
    def scribble(views, chance):
        """Header, chunk entries and the first chunks: what the agent looks at."""
        view = chance.choice(views)
        at = chance.choice((chance.randrange(0, 4096, 4), chance.randrange(4096, 8192, 4), chance.randrange(0, len(view) - 8)))
        view[at:at + 8] = wild_word(chance)

    def test_a_flood_of_connections(self):
        honest, agent = self.start(1, "--rate", 100), self.server.agent_pid()
        held = collections.deque()
        self.meanwhile(lambda: self.connect_again(held))
        self.others_are_served(honest)
        newcomer = self.start(2, "--rate", 100)  # a flood does not keep newcomers away for good
        self.others_are_served(newcomer, 3)
        self.assertEqual(self.server.agent_pid(), agent, "the agent died on the way")

    def connect_again(self, held):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        peer.setblocking(False)
        held.append(peer)
        try:
            peer.connect(self.server.agent_socket)
            peer.send(os.urandom(16))
        except OSError:
            time.sleep(0.001)  # its queue is full: as it should be
        if len(held) > 200:
            held.popleft().close()


if __name__ == "__main__":
    main()
