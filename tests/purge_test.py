"""`fathom purge`: what a person asks to be deleted goes from a running server; everything else stays."""

import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest

from harness import otlp
from harness.capture_writer import Writer
from harness.daemon import FREE_PORTS, Daemon
from harness.main import main
from harness.server import FATHOM, PATIENCE_S, Server, cli, until

SECRET = "alice-77af@example.com"
NOTHING = 1
UNREACHABLE = 3
REFUSED = 4
KILLS = 6
MOST_OF_A_PURGE_S = 1.2  # on an idle machine


def files_with(directory, text):
    return [str(path) for path in pathlib.Path(directory).rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def send_users(server, users, count=20):
    """For each user `count` requests of two spans; the second one does not name the user. Their traces."""
    traces = {user: [otlp.trace_id() for _ in range(count)] for user in users}
    for user, ids in traces.items():
        for trace in ids:
            root = otlp.span(trace, "GET /cart", 5_000_000, **{"user.id": user})
            child = otlp.span(trace, "SELECT", 1_000_000, parent=root["spanId"])
            otlp.send(server.otlp_http, otlp.request("shop", [root, child]))
    return traces


class Purge(unittest.TestCase):
    def values(self, server):
        return {row["value"] for row in server.ask("/api/v1/attributes/user.id/values", {"since": "1h"})["values"]}

    def test_a_user_is_purged_and_the_server_goes_on(self):
        with Server() as server:
            traces = send_users(server, [SECRET, "bob"])
            addresses = dict(server.addresses)
            pid = server.pid()
            would = cli("purge", "--where", f"user.id={SECRET}", "--dry-run", "--url", server.url, check=0)
            self.assertIn("20 requests would be purged", would.stdout)
            outcome = cli("purge", "--where", f"user.id={SECRET}", "--url", server.url, check=0)
            self.assertIn("purged 20 traces with 40 spans", outcome.stdout)
            self.assertIn("no row, index or capture matches", outcome.stdout)
            self.assertEqual(server.pid(), pid, "the same process answers again")
            self.assertEqual(list(server.traces(traces[SECRET])), [None] * 20)
            self.assertTrue(all(len(found["spans"]) == 2 for found in server.traces(traces["bob"])))
            self.assertEqual(self.values(server), {"bob"})
            rows = server.ask("/api/v1/slowest", {"since": "1h", "limit": 100})["rows"]
            self.assertEqual({row["trace_id"] for row in rows}, set(traces["bob"]))
            self.assertEqual(files_with(server.data, SECRET), [])
            self.assertNotIn(SECRET, server.log_text())

            # At the same addresses, spans are taken again.
            self.assertEqual(server.addresses, addresses)
            until(lambda: server.ask("/api/v1/nodes")["nodes"], "the agent is back")
            send_users(server, ["carol"], count=1)
            self.assertEqual(self.values(server), {"bob", "carol"})
            again = cli("purge", "--where", f"user.id={SECRET}", "--url", server.url, check=NOTHING)
            self.assertIn("nothing matches", again.stdout)
            data = server.data
            self.assertEqual(server.stop(), 0)
            cli("store", "verify", data, check=0)
            server.start()

    def test_captures_go_with_their_traces(self):
        with Server() as server:
            until(lambda: server.ask("/api/v1/nodes")["nodes"], "the node is connected")
            for service in ("writer", "other"):
                writer = Writer(server.agent_socket, service)
                self.addCleanup(writer.kill)
                trace = writer.say("burst 1000")
                until(lambda trace=trace: server.ask("/api/v1/captures", {"trace_id": trace})["captures"], "a capture")
                until(lambda trace=trace: server.trace(trace), "its spans")
            outcome = json.loads(cli("purge", "--where", "service.name=writer", "--format", "json", "--url", server.url,
                                     check=0).stdout)
            self.assertGreaterEqual(outcome["captures"], 1)
            left = server.ask("/api/v1/captures")["captures"]
            self.assertEqual({row["service"] for row in left}, {"other"})

    def test_the_right_to_read_and_to_control_is_not_the_right_to_purge(self):
        with tempfile.NamedTemporaryFile("w", suffix=".tokens") as tokens, Server(token=True) as server:
            file = pathlib.Path(server.data, "query-token")
            file.write_text(file.read_text() + "\nreader:" + "7" * 64 + " query,control\n")
            self.assertEqual(server.stop(), 0)
            server.start()
            tokens.write("reader:" + "7" * 64 + "\n")
            tokens.flush()
            words = ["purge", "--where", "user.id=x", "--url", server.url]
            refused = cli(*words, "--token-file", tokens.name, check=REFUSED)
            self.assertIn("purge", refused.stderr)
            cli(*words, check=NOTHING)
            self.assertRegex(server.log_text(), r'audit \{.*"scope":"purge","request":"POST /api/v1/purge"')
            self.assertNotIn("user.id=x", server.log_text())

    def test_a_server_that_is_killed_during_a_purge_loses_nothing_else(self):
        seed = int(os.environ.get("FATHOM_SEED", time.time_ns() % 1_000_000))
        print(f"seed {seed}")
        chance = random.Random(seed)
        users = [f"user-{number}" for number in range(KILLS)]
        with Server() as server:
            traces = send_users(server, [*users, "bob"], count=50)
            for user in users:
                with subprocess.Popen([FATHOM, "purge", "--where", f"user.id={user}", "--url", server.url],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as purge:
                    time.sleep(chance.uniform(0, MOST_OF_A_PURGE_S))
                    os.kill(server.pid(), signal.SIGKILL)
                    said = purge.communicate(timeout=PATIENCE_S)[1]
                    # Nobody answered, or the purge was done before, or nobody knows of it any more.
                    self.assertIn(purge.returncode, (0, UNREACHABLE, REFUSED), said)
                until(server.ready, "the server is back")
                again = cli("purge", "--where", f"user.id={user}", "--url", server.url)
                self.assertIn(again.returncode, (0, NOTHING), again.stderr)
                self.assertEqual(list(server.traces(traces[user])), [None] * 50)
                self.assertTrue(all(len(found["spans"]) == 2 for found in server.traces(traces["bob"])))
                self.assertEqual([str(path) for path in pathlib.Path(server.data).glob("purge*")], [])
            self.assertEqual(server.stop(), 0)
            cli("store", "verify", server.data, check=0)
            server.start()

    def test_a_reload_before_it_changes_no_directory(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as place:
            text = f"{FREE_PORTS}query-token-file = none\ndata = {place}/one\n"
            with Daemon("fathom-server", text + "retention-age = 3d\n") as server:
                url = f"http://{server.addresses['http']}"
                for user in (SECRET, "bob"):
                    span = otlp.span(otlp.trace_id(), "GET /cart", 1_000_000, **{"user.id": user})
                    otlp.send(server.addresses["otlp_http"], otlp.request("shop", [span]))
                server.config.write_text(text.replace("/one", "/two") + "retention-age = 2d\n", encoding="utf-8")
                server.process.send_signal(signal.SIGHUP)
                until(lambda: "changed=" in server.log_text(), f"the reload\n{server.log_text()}")
                outcome = cli("purge", "--where", f"user.id={SECRET}", "--url", url, check=0)
                self.assertIn("purged 1 trace with 1 span", outcome.stdout)
                left = json.loads(cli("slowest", "--url", url, "--format", "json", check=0).stdout)
                self.assertEqual(len(left if isinstance(left, list) else left["rows"]), 1)
                self.assertFalse(pathlib.Path(place, "two").exists())

    def test_a_server_that_everybody_may_ask_purges_nothing(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as place:
            with Daemon("fathom-server", f"{FREE_PORTS}data = {place}/data\n") as server:
                url = f"http://{server.addresses['http']}"
                refused = cli("purge", "--where", "service.name", "--url", url, check=REFUSED)
                self.assertIn("--query-token-file", refused.stderr)

    def test_what_cannot_be_asked(self):
        with Server() as server:
            self.assertIn("--where user.id=4711", cli("purge", "--url", server.url, check=2).stderr)
            self.assertIn("condition", cli("purge", "--where", "a~b", "--url", server.url, check=REFUSED).stderr)

    def test_a_directory_without_a_server(self):
        with Server() as server:
            traces = send_users(server, [SECRET, "bob"], count=3)
            in_use = cli("store", "purge", "--where", f"user.id={SECRET}", server.data, check=5)
            self.assertIn("in use", in_use.stderr)
            self.assertEqual(server.stop(), 0)
            words = ["store", "purge", "--where", f"user.id={SECRET}"]
            would = cli(*words, "--dry-run", server.data, check=0)
            self.assertIn("would purge 3 traces with 3 matching spans", would.stdout)
            self.assertIn("purged 3 traces with 6 spans", cli(*words, server.data, check=0).stdout)
            self.assertEqual(files_with(server.data, SECRET), [])
            cli("store", "verify", server.data, check=0)
            server.start()
            self.assertEqual(list(server.traces(traces[SECRET])), [None] * 3)
            self.assertTrue(all(server.traces(traces["bob"])))


if __name__ == "__main__":
    main()
