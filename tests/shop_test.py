"""The shop in C++: every request is one whole trace, from the load through three services; the demo needs nothing else."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness.main import main
from harness.server import BIN, FATHOM, PATIENCE_S, ROOT, Server, until

SHOP = str(BIN / "shop")
LOAD_OPERATIONS = {"look at an item", "buy an item", "search"}


def run(*words, **environment):
    outcome = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S * 2, check=False,
                             env={**os.environ, **environment})
    assert outcome.returncode == 0, f"{words}: status {outcome.returncode}\n{outcome.stdout}{outcome.stderr}"
    return outcome.stdout


class Shop(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.server.start()
        self.addCleanup(self.server.__exit__, None)

    def play(self, *flags):
        text = run(SHOP, "run", *flags, "--items", "20000", FATHOM_AGENT_SOCKET=self.server.agent_socket)
        return json.loads(text)

    def rows(self, **parameters):
        rows, cursor = [], ""
        while True:
            answer = self.server.ask("/api/v1/slowest", {"limit": 1000, "cursor": cursor, "from": "0", **parameters})
            rows += answer["rows"]
            cursor = answer["next_cursor"]
            if not cursor:
                return rows

    def test_every_request_is_a_whole_trace(self):
        outcome = self.play("--seconds", "3", "--rate", "60")
        self.assertEqual(outcome["failed"], 0)
        self.assertGreater(outcome["requests"], 50)
        whole = until(lambda: [row for row in self.rows() if row["complete"]][:outcome["requests"]]
                      if len(self.rows()) >= outcome["requests"] else None, "all of them are found")
        self.assertEqual(len(self.rows()), outcome["requests"], "a trace for each request, and no other")
        self.assertEqual(len(whole), outcome["requests"])
        self.assertEqual({row["service"] for row in whole}, {"load"})
        self.assertEqual({row["operation"] for row in whole}, LOAD_OPERATIONS)
        for row in whole[:20]:
            root = next(span for span in self.server.trace(row["trace_id"])["spans"] if not span["parent_span_id"])
            self.assertGreaterEqual(root["attributes"]["load.late_us"], 0, "no request starts before it is due")
        self.look_at_one(next(row for row in whole if row["operation"] == "buy an item"))

    def look_at_one(self, row):
        spans = {span["span_id"]: span for span in self.server.trace(row["trace_id"])["spans"]}
        deepest = next(span for span in spans.values() if span["operation"] == "shelves.reserve")
        path = []
        while deepest:
            path.append((deepest["service"], deepest["operation"]))
            deepest = spans.get(deepest["parent_span_id"])
        self.assertEqual(path, [("inventory", "shelves.reserve"), ("inventory", "shop.Inventory/Reserve"),
                                ("gateway", "shop.Inventory/Reserve"), ("gateway", "shop.Gateway/Order"),
                                ("load", "shop.Gateway/Order"), ("load", "buy an item")])

    def test_what_the_services_lose_is_seen(self):
        """A gateway that nobody answers: failed requests are said, and are spans all the same."""
        outcome = subprocess.run([SHOP, "load", "--gateway", "127.0.0.1:1", "--seconds", "1", "--rate", "20"],
                                 capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                                 env={**os.environ, "FATHOM_AGENT_SOCKET": self.server.agent_socket})
        self.assertEqual(outcome.returncode, 1)
        requests = json.loads(outcome.stdout)
        self.assertEqual(requests["failed"], requests["requests"])
        until(lambda: len(self.rows(errors="true")) == requests["requests"], "a trace with an error for each")


class Demo(unittest.TestCase):
    def test_it_needs_no_node(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as directory:
            shown = run(FATHOM, "demo", "--once", "--seconds", "2", PATH=directory, TMPDIR=directory)
            self.assertEqual(os.listdir(directory), [], "what it made is gone")
        self.assertIn("The slowest requests:", shown)
        self.assertIn("shop.Gateway/", shown)
        self.assertIn("shop.Inventory/", shown)
        if os.environ.get("FATHOM_SANITIZED"):
            return  # a sanitizer's own locks and calls are recorded, too
        self.assertIn("holds a mutex that thread", shown)
        self.assertIn("shop::Shelves::snapshot()", shown)
        self.assertRegex(shown, r"fprintf.*\(shop/shelves.cc:\d+", "the line that is slow while the lock is held")


@unittest.skipUnless(os.environ.get("FATHOM_TEST_FULL"), "builds a project; ./dev test --full does it")
class Outside(unittest.TestCase):
    def test_the_shop_is_a_project_of_its_own(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as directory:
            sources = pathlib.Path(directory, "shop")
            shutil.copytree(ROOT / "examples/shop", sources, ignore=shutil.ignore_patterns("build"))
            run("cmake", "--install", str(BIN.parent), "--component", "client", "--prefix", f"{directory}/installed")
            run("cmake", "-G", "Ninja", "-S", str(sources), "-B", str(sources / "build"), f"-DCMAKE_PREFIX_PATH={directory}/installed")
            run("cmake", "--build", str(sources / "build"), "-j2")
            self.assertIn("requests", run(str(sources / "build/shop"), "run", "--seconds", "1", "--items", "1000"))


if __name__ == "__main__":
    main()
