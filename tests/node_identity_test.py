"""Two agents with one node id, and a leaked token of an SDK."""

import json
import pathlib
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from harness import otlp
from harness.daemon import FREE_PORTS, Daemon, Program
from harness.main import main
from harness.server import BIN, cli, until

TOKENS = {"web": ("w" * 32, "ingest"), "node": ("n" * 32, "agent"), "ann": ("a" * 32, "query,control,snapshots")}
REFUSED = 4


def status_of(address, path, name="", body=None):
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {TOKENS[name][0]}"} if name else {})
    asked = urllib.request.Request(f"http://{address}{path}", headers=headers, data=body)
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


class Host(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def server(self, keys=""):
        return Daemon("fathom-server", f"{FREE_PORTS}data = {self.directory}/data\n{keys}")

    def agent(self, name, server, *words):
        """An agent whose state directory is `name`; it may be refused, so nobody waits for more than its start."""
        return Program(BIN / "fathom-agent", "--agent-socket", self.directory / f"{name}.sock", "--state", self.directory / name,
                       "--collector", server.addresses["ingest"], "--node-name", name, "--no-captures", *words)

    def connected(self, server, *words):
        said = cli("nodes", "--url", f"http://{server.addresses['http']}", "--format", "table", *words, check=0).stdout
        return [line.split()[0] for line in said.splitlines()[1:] if " connected " in line]


class TwoAgentsWithOneId(Host):
    def test_the_one_with_the_key_stays(self):
        with self.server() as server, self.agent("real", server) as real:
            until(lambda: self.connected(server) == ["real"], f"the agent among the nodes\n{real.log_text()}")
            thief = self.directory / "thief"
            thief.mkdir(mode=0o700)
            (thief / "node-id").write_bytes((self.directory / "real/node-id").read_bytes())
            with self.agent("thief", server) as impostor:
                until(lambda: "another agent has this id" in impostor.log_text(), "the impostor is refused")
                time.sleep(1)  # time for the real one to be cut off, if it were
                self.assertEqual(self.connected(server), ["real"])
                self.assertNotIn("newer stream", real.log_text())
                impostor.end()
            # The id without its key, on the real agent's host: the message says what to do.
            real.end()
            (self.directory / "real/node-key").unlink()
            with self.agent("real", server) as without_key:
                until(lambda: "delete the node's line in the file node-keys" in without_key.log_text(), "what to do")
                without_key.end()

    def test_a_restarted_server_knows_the_key(self):
        with self.server() as server, self.agent("real", server) as real:
            until(lambda: self.connected(server) == ["real"], f"the agent among the nodes\n{real.log_text()}")
            real.end()
        with self.server() as server:
            thief = self.directory / "thief"
            thief.mkdir(mode=0o700)
            (thief / "node-id").write_bytes((self.directory / "real/node-id").read_bytes())
            with self.agent("thief", server) as impostor:
                until(lambda: "another agent has this id" in impostor.log_text(), "the impostor is refused")
                impostor.end()
            with self.agent("real", server) as real:
                until(lambda: self.connected(server) == ["real"], f"the agent among the nodes\n{real.log_text()}")
                real.end()


class LeakedToken(Host):
    def write_tokens(self):
        path = self.directory / "tokens"
        path.write_text("".join(f"{name}:{token} {scopes}\n" for name, (token, scopes) in TOKENS.items()), encoding="ascii")
        path.chmod(0o600)
        for name, (token, _) in TOKENS.items():
            (self.directory / f"token-{name}").write_text(token + "\n", encoding="ascii")
            (self.directory / f"token-{name}").chmod(0o600)
        return path

    def test_a_token_of_an_sdk_only_sends_spans(self):
        with self.server(f"token-file = {self.write_tokens()}\n") as server:
            http, otlp_http = server.addresses["http"], server.addresses["otlp_http"]
            spans = otlp.request("shop", [otlp.span(otlp.trace_id(), "pay", 5_000_000)])
            body = json.dumps(spans).encode()
            self.assertEqual(status_of(otlp_http, "/v1/traces", "web", body), 200)
            self.assertEqual(status_of(otlp_http, "/v1/traces", "ann", body), 403)
            for path in ("/api/v1/services", "/api/v1/captures", "/api/v1/snapshots", "/api/v1/nodes", "/api/v1/status"):
                self.assertEqual(status_of(http, path, "web"), 403, path)
                self.assertEqual(status_of(http, path, "node"), 403, path)
                self.assertEqual(status_of(http, path, "ann"), 200, path)
            capture = b'{"service":"shop","duration_nano":1000000}'
            self.assertEqual(status_of(http, "/api/v1/captures", "web", capture), 403)
            self.assertNotIn(status_of(http, "/api/v1/captures", "ann", capture), (401, 403))
            said = cli("slowest", "--url", f"http://{http}", "--token-file", self.directory / "token-web")
            self.assertEqual(said.returncode, REFUSED)
            self.assertIn("the token 'web' has the scopes ingest; this needs query", said.stderr)

    def test_it_is_no_agents(self):
        with self.server(f"token-file = {self.write_tokens()}\n") as server:
            ann = ("--token-file", str(self.directory / "token-ann"))
            with self.agent("thief", server, "--collector-token-file", self.directory / "token-web") as thief:
                until(lambda: "the token 'web' has the scopes ingest; this needs agent" in thief.log_text(), "the refusal")
                self.assertEqual(self.connected(server, *ann), [])
                thief.end()
            with self.agent("real", server, "--collector-token-file", self.directory / "token-node") as real:
                until(lambda: self.connected(server, *ann) == ["real"], f"the agent among the nodes\n{real.log_text()}")
                real.end()


if __name__ == "__main__":
    main()
