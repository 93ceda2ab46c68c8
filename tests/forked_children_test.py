"""Children of fork() that end by _exit(): which of them are crashes, over the real programs."""

import unittest

from harness.capture_writer import Writer, scheduling_is_told
from harness.main import main
from harness.server import Server, until


class ForkedChildren(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Server())
        until(lambda: self.server.ask("/api/v1/nodes")["nodes"], "the node is connected")
        self.writer = Writer(self.server.agent_socket)
        self.addCleanup(self.writer.kill)

    def captures(self, trigger):
        return [row for row in self.server.ask("/api/v1/captures")["captures"] if row["trigger"] == trigger]

    @unittest.skipUnless(scheduling_is_told(), "the kernel tells this user's agent nothing")
    def test_a_child_that_exits_with_0_did_not_crash(self):
        self.writer.say("burst 1000")
        until(lambda: self.captures("program"), "a capture: from then on the kernel is recorded")
        self.writer.say("children 20 0")
        trace = self.writer.say("children 1 3")
        [child] = until(lambda: self.captures("crash"), "the end with status 3")
        self.assertEqual(child["trace_id"], trace)
        self.assertEqual(child["operation"], "child.open")
        self.assertNotEqual(child["pid"], self.writer.pid)
        self.writer.kill()
        until(lambda: len(self.captures("crash")) > 1, "the end by a signal")
        self.assertEqual({row["pid"] for row in self.captures("crash")}, {child["pid"], self.writer.pid})


if __name__ == "__main__":
    main()
