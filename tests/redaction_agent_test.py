"""Redaction on the node: a program with secrets in its spans and events, and rules of the agent or of the server alone."""

import ctypes
import ctypes.util
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest
import urllib.request

from harness.daemon import FREE_PORTS, Daemon
from harness.main import main
from harness.server import BIN, cli, until

WRITER = str(BIN / "secret_writer")
RULES = ["hash key user.email", "drop key password", "mask value 41{8,}"]
SECRETS = ["41111", "ann@secret.example", "hunter2"]
HASH = re.compile(r"hmac:[0-9a-f]{32}")
MAGIC = b"FTHMCAPT"


def keys(rules):
    return "".join(f"redact = {rule}\n" for rule in rules)


def body_of(capture):
    """A stored capture as it was before it was compressed."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    assert capture.startswith(MAGIC) and capture[8] == 2, capture[:9]
    [size] = struct.unpack_from("<Q", capture, 9)
    body = ctypes.create_string_buffer(size)
    frame = capture[17:]
    written = library.ZSTD_decompress(body, ctypes.c_size_t(size), frame, ctypes.c_size_t(len(frame)))
    assert written == size, written
    return body.raw


def metrics_at(url):
    with urllib.request.urlopen(url, timeout=60) as response:
        lines = response.read().decode().splitlines()
    samples = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}


class Writer:
    """secret_writer, which says which trace it has made."""

    def __init__(self, agent_socket):
        self.process = subprocess.Popen([WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "FATHOM_AGENT_SOCKET": str(agent_socket),
                                             "OTEL_SERVICE_NAME": "shop-4111111111111111"})

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Node(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.data = self.directory / "data"
        self.state = self.directory / "state"

    def server(self, rules=(), ports=FREE_PORTS):
        return Daemon("fathom-server", f"{ports}data = {self.data}\ncapture-threshold = 100ms\n{keys(rules)}")

    def agent(self, ingest, rules=()):
        return Daemon("fathom-agent", f"agent-socket = {self.directory}/a.sock\nstate = {self.state}\ncollector = {ingest}\n"
                                      f"node-name = node\nhttp = 127.0.0.1:0\n{keys(rules)}")

    def writer(self):
        writer = Writer(self.directory / "a.sock")
        self.addCleanup(writer.kill)
        return writer

    def secrets_in(self, text):
        return [secret for secret in SECRETS if secret in text]

    def secrets_below(self, directory):
        """(file, secret) of each secret in the bytes of a directory's files, captures decompressed."""
        found = []
        for path in pathlib.Path(directory).rglob("*"):
            if not path.is_file() or path.name == "LOCK":
                continue
            content = path.read_bytes()
            if content.startswith(MAGIC):
                content += body_of(content)
            found += [(str(path), secret) for secret in SECRETS if secret.encode() in content]
        return found

    def fathom(self, server, *words):
        return cli(*words, "--url", f"http://{server.addresses['http']}", check=0).stdout

    def connected(self, server):
        return " connected " in self.fathom(server, "nodes", "--format", "table")

    def texts_of(self, server, trace):
        """All that the server says of a trace and its captures."""
        texts = [self.fathom(server, "trace", trace), self.fathom(server, "trace", trace, "--format", "json"),
                 self.fathom(server, "timeline", trace), self.fathom(server, "timeline", trace, "--format", "json")]
        return "\n".join(texts)

    def record(self, server):
        """Two traces of a program and their captures, as the server has them."""
        writer = self.writer()
        # The rate of captures is limited; another trace has another hash of the same address all the same.
        traces = [writer.say("pay"), writer.say("pay"), writer.say("hold 400")]
        until(lambda: len(self.rows(server)) >= 3, f"captures; the server has {self.rows(server)}")
        for trace in traces:
            until(lambda: self.is_stored(server, trace), "its spans are stored")
        return [self.texts_of(server, trace) for trace in traces]

    def rows(self, server):
        return json.loads(self.fathom(server, "captures", "--format", "json"))

    def fathom_or_none(self, server, *words):
        outcome = cli(*words, "--url", f"http://{server.addresses['http']}")
        return outcome.stdout if outcome.returncode == 0 else None

    def is_stored(self, server, trace):
        """Whether all spans of a trace are; its capture may come before them."""
        stored = self.fathom_or_none(server, "trace", trace, "--format", "json")
        return stored and json.loads(stored)["complete"]

    def spool(self, agent):
        """All files of the spool, once there are spans in it."""
        writer = self.writer()
        for _ in range(3):
            writer.say("pay")
        spool = self.state / "spool"
        until(lambda: sum(path.stat().st_size for path in spool.glob("*")) > 1000, f"spans in the spool\n{agent.log_text()}")
        return self.secrets_below(spool)

    def assert_redacted(self, server):
        """Of everything that the server stored of a program with secrets."""
        texts = self.record(server)
        for text in texts:
            self.assertEqual(self.secrets_in(text), [], text)
            self.assertIn("pay.begin", text, "the events are there")
            self.assertIn("[masked]", text)
        hashes = {found for text in texts for found in HASH.findall(text)}
        self.assertEqual(len(hashes), 1, "one address has one hash, in spans and events of all traces")
        self.assertIn("POST /cards/[masked]", texts[0])
        self.assertIn("charge [masked]", texts[0])
        self.assertIn("GET /cards/[masked]", texts[2])
        listed = json.dumps(self.rows(server))
        self.assertIn("shop-[masked]", listed)
        self.assertEqual(self.secrets_in(listed), [], listed)
        self.assertEqual(self.secrets_below(self.data), [])


class RulesOfTheAgent(Node):
    def test_without_rules_the_secrets_are_there(self):
        with self.server() as server, self.agent(server.addresses["ingest"]):
            until(lambda: self.connected(server), "the node is connected")
            for text in self.record(server):
                self.assertIn("41111", text)
            self.assertEqual({secret for _, secret in self.secrets_below(self.data)}, set(SECRETS),
                             "or the bytes of the data directory would show nothing")

    def test_nothing_that_the_rules_remove_reaches_the_server(self):
        with self.server() as server, self.agent(server.addresses["ingest"], RULES):
            until(lambda: self.connected(server), "the node is connected")
            self.assert_redacted(server)
        key = self.state / "redact-key"
        self.assertEqual(key.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.secrets_below(self.state), [])

    def test_the_spool_has_what_the_rules_leave(self):
        with self.agent("127.0.0.1:1") as agent:
            self.assertNotEqual(self.spool(agent), [], "or its bytes would show nothing")
        for path in (self.state / "spool").glob("*"):
            path.unlink()
        with self.agent("127.0.0.1:1", RULES) as agent:
            self.assertEqual(self.spool(agent), [])

    def test_rules_change_by_a_reload(self):
        with self.server() as server, self.agent(server.addresses["ingest"], RULES[1:]) as agent:
            until(lambda: self.connected(server), "the node is connected")
            writer = self.writer()
            trace = writer.say("pay")
            until(lambda: self.is_stored(server, trace), "its spans are stored")
            self.assertIn("ann@secret.example", self.fathom(server, "trace", trace, "--format", "json"))
            text = agent.config.read_text(encoding="utf-8")
            agent.config.write_text(text + "redact = shuffle key user.email\n", encoding="utf-8")
            end = agent.hang_up()
            agent.says("shuffle", end)
            agent.config.write_text(text + f"redact = {RULES[0]}\n", encoding="utf-8")
            end = agent.hang_up()
            agent.says("redact", end)
            trace = writer.say("pay")
            until(lambda: self.is_stored(server, trace), "its spans are stored")
            self.assertNotIn("ann@secret.example", self.fathom(server, "trace", trace, "--format", "json"))

    def test_a_wrong_rule_is_refused(self):
        outcome = subprocess.run([BIN / "fathom-agent", "--redact", "mask value (", "--check-config"], capture_output=True,
                                 text=True, check=False)
        self.assertEqual(outcome.returncode, 2)
        self.assertIn("--redact: 'mask value ('", outcome.stderr)


class RulesOfTheServer(Node):
    def setUp(self):
        super().setUp()
        self.sent_rules = self.state / "server-redaction-rules"

    def has_rules(self, *texts):
        return self.sent_rules.exists() and all(text.encode() in self.sent_rules.read_bytes() for text in texts)

    def test_an_agent_without_rules_applies_them_to_captures(self):
        with self.server(RULES) as server, self.agent(server.addresses["ingest"]):
            until(lambda: self.has_rules(*RULES), "the agent has the rules")
            self.assert_redacted(server)
            metrics = self.metrics(server)
            self.assertEqual(metrics['fathom_rejected_captures_total{reason="unredacted"}'], 0)
        self.assertEqual(self.sent_rules.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.secrets_below(self.state), [])

    def test_both_have_rules(self):
        with self.server(RULES[1:]) as server, self.agent(server.addresses["ingest"], RULES[:1]):
            until(lambda: self.has_rules(*RULES[1:]), "the agent has the rules")
            self.assert_redacted(server)

    def test_an_agent_that_starts_without_the_server_has_its_rules(self):
        with self.server(RULES) as server, self.agent(server.addresses["ingest"]):
            until(lambda: self.has_rules(*RULES), "the agent has the rules")
        with self.agent("127.0.0.1:1") as agent:
            self.assertEqual(self.spool(agent), [])
        with self.server() as server, self.agent(server.addresses["ingest"]):
            until(lambda: not self.sent_rules.exists(), "the server has no rules any more")

    def metrics(self, server):
        return metrics_at(f"http://{server.addresses['http']}/metrics")

    def agent_metrics(self, agent):
        return metrics_at(re.search(r"metrics at (\S+)", agent.log_text()).group(1))

    def test_captures_of_before_a_change_are_rejected(self):
        with self.server(RULES[:1]) as server:
            with self.agent(server.addresses["ingest"]) as agent:
                until(lambda: self.has_rules(RULES[0]), "the agent has the rules")
                made = "fathom_agent_provisional_capture_bytes"
                # One of the slowest of its minute: its capture is kept until the minute, or the agent, ends.
                trace = self.writer().say("hold 70")
                until(lambda: self.agent_metrics(agent).get(made, 0) > 0, f"a capture is kept\n{self.agent_metrics(agent)}")
                text = server.config.read_text(encoding="utf-8")
                server.config.write_text(text + keys(RULES[1:]), encoding="utf-8")
                server.hang_up()
                until(lambda: self.has_rules(*RULES), "the agent has the other rules")
            metrics = self.metrics(server)
            self.assertGreaterEqual(metrics['fathom_rejected_captures_total{reason="unredacted"}'], 1)
            self.assertIn("encoded before the server's redaction rules changed", server.log_text())
            self.assertEqual([row for row in self.rows(server) if row["trace_id"] == trace], [])
            self.assertEqual(self.secrets_in(json.dumps(self.rows(server))), [])


if __name__ == "__main__":
    main()
