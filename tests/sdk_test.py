"""OpenTelemetry's Node SDK, unchanged, over every transport: each field that it sends comes out of the command line."""

import json
import unittest

from harness import node, raw
from harness.main import main
from harness.server import Server, cli, until

TRANSPORTS = [
    ("grpc", "none"),
    ("grpc", "gzip"),
    ("http/protobuf", "none"),
    ("http/protobuf", "gzip"),
    ("http/json", "none"),
    ("http/json", "gzip"),
]
CONNECTIONS = 6
SAME = ("span_id", "kind", "start_time_unix_nano", "duration_nano", "status", "attributes")


class Sdk(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        node.require()
        cls.server = Server()
        cls.enterClassContext(cls.server)

    def export(self, protocol, compression):
        """Sends the trace; what was sent, by span id."""
        address = self.server.otlp_grpc if protocol == "grpc" else self.server.otlp_http
        spans = json.loads(node.run("export.cjs", protocol, address, compression))
        return {span["span_id"]: span for span in spans}

    def shown(self, trace_id, spans):
        def look():
            outcome = cli("trace", trace_id, "--url", self.server.url, "--format", "json")
            trace = json.loads(outcome.stdout) if outcome.returncode == 0 else {"spans": []}
            return trace if len(trace["spans"]) >= spans else None

        return until(look, f"trace {trace_id} with {spans} spans")

    def test_every_field_over_every_transport(self):
        for protocol, compression in TRANSPORTS:
            with self.subTest(protocol=protocol, compression=compression):
                sent = self.export(protocol, compression)
                trace = self.shown(next(iter(sent.values()))["trace_id"], len(sent))
                self.compare_trace(sent, trace)
                for span in trace["spans"]:
                    self.compare_span(sent[span["span_id"]], span)

    def compare_trace(self, sent, trace):
        starts = [int(span["start_time_unix_nano"]) for span in sent.values()]
        ends = [int(span["start_time_unix_nano"]) + span["duration_nano"] for span in sent.values()]
        self.assertEqual(trace["duration_nano"], max(ends) - min(starts))
        self.assertIs(trace["complete"], True)
        self.assertEqual({span["span_id"] for span in trace["spans"]}, set(sent))
        self.assertEqual(len(trace["spans"]), len(sent))

    def compare_span(self, sent, shown):
        for field in SAME:
            self.assertEqual(shown[field], sent[field], field)
        self.assertEqual(shown["parent_span_id"] or "", sent["parent_span_id"])
        self.assertEqual((shown["service"], shown["operation"]), ("sdk-test", sent["name"]))
        self.assertEqual(shown.get("status_message") or "", sent["status_message"])
        self.compare_parts(sent["events"], shown["events"])
        self.compare_parts(sent["links"], shown["links"])

    def compare_parts(self, sent, shown):
        self.assertEqual(len(shown), len(sent))
        for one, other in zip(sent, shown):
            self.assertEqual({key: other.get(key) for key in one}, one)

    def test_it_is_among_the_slowest(self):
        sent = self.export("http/protobuf", "none")
        root = next(span for span in sent.values() if span["name"] == "root operation")
        self.shown(root["trace_id"], len(sent))
        wanted = ["slowest", "--url", self.server.url, "--service", "sdk-test", "--operation", "child operation"]
        rows = json.loads(cli(*wanted, "--errors", "--limit", "1000", "--format", "json", check=0).stdout)
        row = next(row for row in rows if row["trace_id"] == root["trace_id"])
        self.assertEqual(row["spans"], len(sent))
        self.assertEqual(row["root_duration_nano"], root["duration_nano"])
        self.assertIs(row["complete"], True)
        self.assertIs(row["error"], True)

    def test_its_services_operations_and_attributes_are_listed(self):
        sent = self.export("grpc", "none")
        self.shown(next(iter(sent.values()))["trace_id"], len(sent))
        services = json.dumps(self.server.ask("/api/v1/services", {"since": "1h"}))
        self.assertIn("sdk-test", services)
        operations = json.dumps(self.server.ask("/api/v1/operations", {"service": "sdk-test", "since": "1h"}))
        for span in sent.values():
            self.assertIn(span["name"], operations)
        keys = json.dumps(self.server.ask("/api/v1/attributes", {"since": "1h"}))
        for key in ("whole", "text", "service.version"):
            self.assertIn(key, keys)

    def test_nothing_is_lost_when_connections_come_of_age(self):
        with Server(arguments=["--grpc-connection-age", "1s"]) as server, node.start("batches.cjs", server.otlp_grpc) as sdk:
            peers = set()

            def enough():
                peers.update(raw.peers_of(server.otlp_grpc))
                return len(peers) >= CONNECTIONS

            until(enough, f"{CONNECTIONS} connections, one after the other")
            ended, _ = sdk.communicate()
            self.assertEqual(sdk.returncode, 0, "an export failed, and the exporter gave it up")
            [service] = server.ask("/api/v1/services", {"since": "1h"})["services"]
            self.assertEqual((service["service"], service["spans"]), ("batches", int(ended)))
            self.assertEqual(server.metrics()["fathom_otlp_cut_off_total"], 0)


if __name__ == "__main__":
    main()
