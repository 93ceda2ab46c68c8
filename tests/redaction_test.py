"""Redaction: what rules drop, hash or mask is in no answer and in no file of the server, however it was sent."""

import base64
import json
import os
import pathlib
import re
import stat
import tempfile
import unittest
import urllib.parse
import urllib.request

from harness import otlp, otlp_protobuf
from harness.daemon import FREE_PORTS, Daemon, run
from harness.main import main
from harness.server import until

CARD = "4111111111111111"
PASSWORD = "hunter2-correct-horse"
MAIL = "ann@example.org"
SESSION = "sess-9f8a7b6c5d4e"
SECRETS = (CARD, PASSWORD, MAIL, SESSION)
RULES = r"""
redact = drop key *password*
redact = mask key http.request.header.*
redact = hash key session.id
redact = mask value \b[0-9]{13,19}\b        # card numbers
redact = hash value [a-z]+@[a-z]+\.org
"""


def text(value):
    return {"stringValue": value}


def with_secrets(trace):
    """A request that has the secrets wherever a request has text."""
    secret = [{"key": "note", "value": text(f"card {CARD} of {MAIL}")}, {"key": "password", "value": text(PASSWORD)},
              {"key": "session.id", "value": text(SESSION)}, {"key": "card", "value": {"intValue": CARD}},
              {"key": "amount", "value": {"doubleValue": float(CARD)}},
              {"key": "raw", "value": {"bytesValue": base64.b64encode(b"\xff" + CARD.encode()).decode()}},
              {"key": "http.request.header.cookie", "value": {"arrayValue": {"values": [text(SESSION), text(PASSWORD)]}}},
              {"key": "order", "value": {"kvlistValue": {"values": [
                  {"key": "old_password", "value": text(PASSWORD)}, {"key": "cards", "value": {"arrayValue": {"values": [
                      {"intValue": CARD}, {"kvlistValue": {"values": [{"key": "session.id", "value": text(SESSION)}]}}]}}},
                  {"key": "open", "value": text("stays")}]}}}]
    span = otlp.span(trace, f"GET /cards/{CARD}", 1_000_000)
    span |= {"attributes": secret, "traceState": f"vendor={CARD}", "status": {"code": 2, "message": f"no {CARD} of {MAIL}"},
             "events": [{"timeUnixNano": span["startTimeUnixNano"], "name": f"mailed {MAIL}", "attributes": secret}],
             "links": [{"traceId": otlp.trace_id(), "spanId": otlp.span_id(), "traceState": f"v={CARD}", "attributes": secret}]}
    request = otlp.request("checkout", [span])
    whole = request["resourceSpans"][0]
    whole["resource"]["attributes"] += secret
    whole["schemaUrl"] = f"https://{CARD}/"
    whole["scopeSpans"][0]["scope"] = {"name": f"scope {MAIL}", "version": CARD, "attributes": secret}
    return request


def found_in(content):
    """The secrets in it, as text and as base64 of what they were sent in."""
    content = content if isinstance(content, bytes) else content.encode()
    return [secret for secret in SECRETS + (base64.b64encode(b"\xff" + CARD.encode()).decode()[2:-4],) if secret.encode() in content]


class Redaction(unittest.TestCase):
    def get(self, server, path, **parameters):
        url = f"http://{server.addresses['http']}{path}?{urllib.parse.urlencode(parameters, doseq=True)}"
        with urllib.request.urlopen(url) as response:
            return response.read().decode(errors="replace")  # a Perfetto trace is binary

    def send(self, server, request, as_protobuf=False):
        body = otlp_protobuf.encode(request) if as_protobuf else json.dumps(request).encode()
        kind = "application/x-protobuf" if as_protobuf else "application/json"
        status, _, answer = otlp.post(server.addresses["otlp_http"], body, kind)
        self.assertEqual(status, 200, answer)

    def trace(self, server, trace):
        text_of = lambda: self.get(server, f"/api/v1/traces/{trace}")
        until(lambda: trace in self.get(server, "/api/v1/slowest", since="1h", limit=100), "the trace")
        return text_of()

    def span_of(self, server, trace):
        return json.loads(self.trace(server, trace))["spans"][0]

    def every_answer(self, server, traces):
        """The text of every question that shows what spans have."""
        for trace in traces:
            yield self.trace(server, trace)
            yield self.get(server, f"/api/v1/traces/{trace}/timeline")
            yield self.get(server, f"/api/v1/traces/{trace}/perfetto")
        for path in ("slowest", "services", "operations", "attributes", "latency", "graph", "status"):
            yield self.get(server, f"/api/v1/{path}", since="1h")
        for key in json.loads(self.get(server, "/api/v1/attributes", since="1h"))["keys"]:
            yield self.get(server, f"/api/v1/attributes/{urllib.parse.quote(key, safe='')}/values", since="1h")
        yield self.get(server, "/metrics")

    def test_no_secret_is_answered_or_stored(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as data:
            config = f"{FREE_PORTS}data = {data}\ndurability = os\n"
            traces = [otlp.trace_id(), otlp.trace_id()]
            with Daemon("fathom-server", config + RULES) as server:
                for trace, as_protobuf in zip(traces, (False, True)):
                    self.send(server, with_secrets(trace), as_protobuf)
                for answer in self.every_answer(server, traces):
                    self.assertEqual(found_in(answer), [], answer[:2000])
                json_span, protobuf_span = (self.span_of(server, trace) for trace in traces)
                self.assertEqual(json_span["attributes"], protobuf_span["attributes"])
                attributes = json_span["attributes"]
                self.assertRegex(attributes["session.id"], r"^hmac:[0-9a-f]{32}$")
                self.assertNotIn("password", attributes)
                self.assertEqual(attributes["card"], "[masked]")
                self.assertEqual(attributes["http.request.header.cookie"], "[masked]")
                self.assertIn("stays", json.dumps(attributes["order"]))
                self.assertEqual(json_span["operation"], "GET /cards/[masked]")
                # Equal values have equal hashes, so that they can be searched for.
                hashed = f"session.id={attributes['session.id']}"
                rows = json.loads(self.get(server, "/api/v1/slowest", since="1h", where=hashed))
                self.assertEqual(len(rows["rows"]), 2)
                metrics = self.get(server, "/metrics")
                for action in ("drop", "hash", "mask"):
                    self.assertRegex(metrics, rf'fathom_redacted_total{{action="{action}"}} [1-9]')
                self.assertEqual(found_in(server.log_text()), [])
            self.assertEqual(self.files_with_secrets(data), {})
            key = pathlib.Path(data, "redact-key")
            self.assertEqual(stat.S_IMODE(os.stat(key).st_mode), 0o600)
            status, words, _ = run("fathom-store", "verify", data)
            self.assertEqual(status, 0, words)
            # Nor does a server without rules find them in the blocks, which are compressed.
            with Daemon("fathom-server", config) as server:
                for answer in self.every_answer(server, traces):
                    self.assertEqual(found_in(answer), [], answer[:2000])

    def files_with_secrets(self, data):
        found = {path: found_in(path.read_bytes()) for path in pathlib.Path(data).rglob("*") if path.is_file()}
        return {path.name: secrets for path, secrets in found.items() if secrets}

    def test_without_rules_the_same_search_finds_them(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as data:
            with Daemon("fathom-server", f"{FREE_PORTS}data = {data}\ndurability = os\n") as server:
                trace = otlp.trace_id()
                self.send(server, with_secrets(trace))
                self.assertEqual(set(found_in(self.trace(server, trace))), set(found_in(json.dumps(with_secrets(trace)))))
            self.assertNotEqual(self.files_with_secrets(data), {})
            self.assertFalse(pathlib.Path(data, "redact-key").exists())

    def test_hangup_changes_the_rules(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as data:
            config = f"{FREE_PORTS}data = {data}\n"

            def user_of(server):
                trace = otlp.trace_id()
                self.send(server, otlp.request("checkout", [otlp.span(trace, "pay", 1_000_000, user="ann", other=1)]))
                return self.span_of(server, trace)["attributes"].get("user")

            with Daemon("fathom-server", config) as server:
                self.assertEqual(user_of(server), "ann")
                server.config.write_text(config + "redact = hash key user\n", encoding="utf-8")
                server.says("read again: changed=redact", server.hang_up())
                hashed = user_of(server)
                self.assertRegex(hashed, "^hmac:")
                self.assertEqual(user_of(server), hashed)

                server.config.write_text(config + "redact = hash value a(nn\n", encoding="utf-8")
                end = server.hang_up()
                server.says("all stays as it was: ", end)
                self.assertIn(f"{server.config}:6: redact: 'hash value a(nn', column 12: missing )", server.log_text()[end:])
                self.assertEqual(user_of(server), hashed)

                pathlib.Path(data, "redact-key").write_text("damaged\n", encoding="utf-8")
                server.config.write_text(config + "redact = hash value ann\n", encoding="utf-8")
                end = server.hang_up()
                server.says("all stays as it was: ", end)
                self.assertIn("redact-key does not hold 64 hex digits", server.log_text()[end:])
                self.assertEqual(user_of(server), hashed)

                server.config.write_text(config + "redact = drop key user\n", encoding="utf-8")
                server.says("read again: changed=redact", server.hang_up())
                self.assertIsNone(user_of(server))

    def test_wrong_rules_are_named_with_the_cure(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as directory:
            path = pathlib.Path(directory, "a.conf")
            for rule, words in (("hide key user", "a.conf:1: redact: 'hide key user', column 1: 'hide' is no action"),
                                ("mask value [0-9]*", "column 12: the regular expression matches the empty text"),
                                (r"mask value (a)\1", r"column 15: invalid escape sequence: \1; the syntax is that of RE2")):
                path.write_text(f"redact = {rule}\n", encoding="utf-8")
                status, _, says = run("fathom-server", "--config", str(path), "--check-config")
                self.assertEqual(status, 2)
                self.assertIn(words, says)
            path.write_text(RULES, encoding="utf-8")
            self.assertEqual(run("fathom-server", "--config", str(path), "--check-config")[:2], (0, "the configuration is right\n"))

    def test_a_hash_needs_the_key(self):
        hashes = set()
        for _ in range(2):
            with tempfile.TemporaryDirectory(prefix="fathom-test-") as data:
                key_file = pathlib.Path(data, "elsewhere")
                with Daemon("fathom-server", f"{FREE_PORTS}data = {data}/d\nredact = hash key user\nredact-key-file = {key_file}\n") as server:
                    trace = otlp.trace_id()
                    self.send(server, otlp.request("checkout", [otlp.span(trace, "pay", 1_000_000, user="ann")]))
                    hashes.add(self.span_of(server, trace)["attributes"]["user"])
                self.assertTrue(re.fullmatch(r"[0-9a-f]{64}\n", key_file.read_text(encoding="ascii")))
                self.assertFalse(pathlib.Path(data, "d", "redact-key").exists())
        self.assertEqual(len(hashes), 2, "two servers have two keys")


if __name__ == "__main__":
    main()
