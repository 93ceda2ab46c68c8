"""kill -9 of programs, agents and servers: every span that a program finished, and did not count as lost, is stored once.

FATHOM_CRASHES says how many programs are killed (25; 8 under a sanitizer, unless FATHOM_TEST_FULL is set).
"""

import os
import random
import signal
import time
import unittest

from harness.main import main
from harness.server import Server, until
from harness.spans import Writer, await_all, stored_spans

SLOW = os.environ.get("FATHOM_SANITIZED") and not os.environ.get("FATHOM_TEST_FULL")
CRASHES = int(os.environ.get("FATHOM_CRASHES", "8" if SLOW else "25"))
ROUNDS = 3 if SLOW else 8
PROGRAMS = 4


class CrashSpans(unittest.TestCase):
    def setUp(self):
        self.seed = random.SystemRandom().randrange(2**32)
        self.random = random.Random(self.seed)
        print(f"seed {self.seed}", flush=True)
        self.server = Server()
        self.enterContext(self.server)
        self.writers = []
        self.addCleanup(lambda: [writer.kill() for writer in self.writers])

    def start(self, program, *flags, pool_mib=8, **more):
        environment = {"FATHOM_AGENT_SOCKET": self.server.agent_socket, "FATHOM_POOL_MIB": str(pool_mib)}
        writer = Writer(self.server.sockets.name, program, *flags, environment=environment, **more)
        self.writers.append(writer)
        return writer

    def pause(self, most):
        """The random moment is what is tested; nothing waits for it."""
        time.sleep(self.random.uniform(0, most))

    def crash(self, pid_of):
        victim = until(pid_of, "somebody to kill")
        os.kill(victim, signal.SIGKILL)
        until(lambda: pid_of() not in (None, victim), "a successor")

    def expect_all(self):
        """Everything is there, and nothing was stored twice, equal or not."""
        verdicts = [await_all(self.server, writer) for writer in self.writers]
        self.assertEqual(stored_spans(self.server), sum(verdict.found for verdict in verdicts), f"seed {self.seed}")
        return verdicts

    def test_programs_that_are_killed_at_full_speed(self):
        for program in range(CRASHES):
            writer = self.start(program, threads=2, pool_mib=1)
            # Soon: what it writes while nobody looks is lost for want of memory, and has to be asked for all the same.
            until(writer.ready, "its first spans", every=0.001)
            self.pause(0.005)  # in the middle of its writing
            writer.kill()
        verdicts = self.expect_all()
        print(f"{sum(v.finished for v in verdicts)} spans finished, {sum(v.lost for v in verdicts)} counted as lost")
        self.assertGreater(sum(v.found for v in verdicts), CRASHES * 100)

    def test_agents_and_servers_that_are_killed(self):
        for program in range(PROGRAMS):
            self.start(program, "--rate", 500, threads=2)
        for _ in range(ROUNDS):
            self.pause(0.6)
            self.crash(self.server.agent_pid)
            if self.random.random() < 0.5:
                self.crash(self.server.pid)
        until(self.server.ready, "the server")
        for writer in self.writers:
            writer.kill()
        verdicts = self.expect_all()
        self.assertEqual([verdict.lost for verdict in verdicts], [0] * PROGRAMS)

    def test_programs_that_die_while_no_agent_is_there(self):
        """Their memory waits with the supervisor."""
        writers = [self.start(program, "--rate", 2000) for program in range(PROGRAMS)]
        for writer in writers:
            until(lambda w=writer: w.finished() > 100, "spans")
        os.kill(self.server.agent_pid(), signal.SIGSTOP)
        before = [writer.finished() for writer in writers]
        for writer, seen in zip(writers, before):
            until(lambda w=writer, s=seen: w.finished() > s + 500, "spans that nobody reads")
            writer.kill()
        self.crash(self.server.agent_pid)
        verdicts = self.expect_all()
        self.assertEqual([verdict.lost for verdict in verdicts], [0] * PROGRAMS)

    def test_a_server_that_is_away_for_long(self):
        """Spans go to the spool, also beyond what the pools hold, and come home when the server is back."""
        writer = self.start(0, "--rate", 800, pool_mib=1)
        until(lambda: writer.finished() > 1000, "spans")
        os.kill(self.server.pid(), signal.SIGSTOP)
        seen = writer.finished()
        until(lambda: writer.finished() > seen + 10000, "more spans than a pool of 1 MiB holds")
        self.crash(self.server.agent_pid)  # the spool is the next agent's, too
        os.kill(self.server.pid(), signal.SIGCONT)
        seen = writer.finished()
        until(lambda: writer.finished() > seen + 1000, "spans")
        writer.kill()
        [verdict] = self.expect_all()
        self.assertEqual(verdict.lost, 0)


if __name__ == "__main__":
    main()
