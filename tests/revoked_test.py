"""Who was let in and would not be any more: a token that is taken out of the server's file, a CA that is trusted no longer. After SIGHUP
their connections end, they come anew, are refused, and both logs say so; the others' go on."""

import http.client
import json
import pathlib
import re
import shutil
import ssl
import tempfile
import unittest
import urllib.request

from harness.certificates import Certificates
from harness.daemon import FREE_PORTS, Daemon
from harness.main import main
from harness.server import PATIENCE_S, until

KEPT, OLD, NEW = ("kept-" + "0" * 27, "old-" + "0" * 28, "new-" + "0" * 28)


class Revoked(unittest.TestCase):
    def setUp(self):
        self.made = Certificates()
        self.addCleanup(self.made.close)

    def run_daemon(self, program, text):
        place = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.addCleanup(place.cleanup)
        daemon = Daemon(program, text.format(place=place.name))
        daemon.__enter__()
        self.addCleanup(lambda: daemon.__exit__(None))
        return daemon

    def server(self, keys):
        return self.run_daemon("fathom-server", FREE_PORTS + "data = {place}\n" + keys)

    def agent(self, server, name, keys):
        return self.run_daemon("fathom-agent", "agent-socket = {place}/a.sock\nstate = {place}/s\nkernel-events = off\n" +
                               f"node-name = {name}\ncollector = {server.addresses['ingest']}\n{keys}")

    def tokens(self, name, *lines):
        path = self.made.write(name, "\n".join(lines) + "\n")
        pathlib.Path(path).chmod(0o600)
        return path

    def get(self, server, path, token=None, tls=None):
        request = urllib.request.Request(f"http{'s' if tls else ''}://{server.addresses['http']}{path}")
        if token:
            request.add_header("Authorization", "Bearer " + token)
        with urllib.request.urlopen(request, timeout=PATIENCE_S, context=tls) as response:
            return response.read().decode()

    def connected(self, *of_server):
        return {node["host_name"] for node in json.loads(self.get(of_server[0], "/api/v1/nodes", *of_server[1:]))["nodes"] if node["connected"]}

    def ended(self, text):
        return int(re.search(r'^fathom_ingest_streams_ended_total\{reason="revoked"\} (\d+)', text, re.MULTILINE).group(1))

    def test_a_token_that_is_revoked_ends_its_stream(self):
        server = self.server(f"token-file = {self.tokens('tokens', KEPT, OLD)}\n")
        kept = self.agent(server, "kept", f"collector-token-file = {self.tokens('of-kept', KEPT)}\n")
        old = self.agent(server, "old", f"collector-token-file = {self.tokens('of-old', OLD)}\n")
        until(lambda: self.connected(server, KEPT) == {"kept", "old"}, "both agents")

        server.says("read again", server.hang_up())
        self.assertEqual(self.ended(self.get(server, "/metrics", KEPT)), 0, "the same tokens end nothing")

        self.tokens("tokens", KEPT, NEW)
        end = server.hang_up()
        server.says("refused listener=ingest peer=", end)
        self.assertRegex(server.log_text()[end:], r"refused listener=ingest peer=\S+ reason=wrong: its token is none of ours")
        old.says("the token is none of this server's")
        until(lambda: self.connected(server, KEPT) == {"kept"}, "the other agent to be gone")
        metrics = self.get(server, "/metrics", KEPT)
        self.assertEqual(self.ended(metrics), 1)
        refused = lambda: int(re.search(r"^fathom_ingest_streams_refused_total (\d+)", self.get(server, "/metrics", KEPT), re.MULTILINE).group(1))
        until(lambda: refused() > 0, "it to come anew, and to be refused")

        self.tokens("of-old", NEW)
        until(lambda: self.connected(server, KEPT) == {"kept", "old"}, f"the agent with its new token; it says\n{old.log_text()}")
        self.assertEqual(kept.log_text().count(") takes spans"), 1, "by the stream that it had")

    def test_a_ca_that_is_trusted_no_longer_ends_connections_of_its_certificates(self):
        made = self.made
        for name, ca in (("server", "ca"), ("kept", "ca"), ("old", "other")):
            made.make(name, ca=ca)
        both = pathlib.Path(made.path("ca.crt")).read_text() + pathlib.Path(made.path("other.crt")).read_text()
        made.write("trusted.crt", both)
        server = self.server(made.keys("server", client_ca="trusted"))
        agents = {name: self.agent(server, name, f"collector-ca = {made.path('ca.crt')}\ncollector-certificate = {made.path(name + '.crt')}\n"
                                                 f"collector-key = {made.path(name + '.key')}\n") for name in ("kept", "old")}
        until(lambda: self.connected(server, None, self.context("kept")) == {"kept", "old"}, "both agents")
        questions = {name: http.client.HTTPSConnection(server.addresses["http"], timeout=PATIENCE_S, context=self.context(name)) for name in agents}
        for connection in questions.values():
            self.addCleanup(connection.close)
            self.assertEqual(self.status(connection), 200)
        local = questions["kept"].sock.getsockname()

        shutil.copy(made.path("ca.crt"), made.path("trusted.crt"))
        end = server.hang_up()
        server.says("read again", end)
        server.says("refused listener=ingest peer=", end)
        server.says("refused listener=query peer=", end)
        self.assertRegex(server.log_text()[end:], r"listener=ingest peer=\S+ reason=certificate: its certificate: it is signed by another CA")
        agents["old"].says("does not know the CA of")
        until(lambda: self.connected(server, None, self.context("kept")) == {"kept"}, "the other agent to be gone")
        with self.assertRaises((OSError, http.client.HTTPException)):
            self.status(questions["old"])
        self.assertEqual(self.status(questions["kept"]), 200)
        self.assertEqual(questions["kept"].sock.getsockname(), local, "the connection of before is used")
        self.assertEqual(agents["kept"].log_text().count(") takes spans"), 1, "by the stream that it had")

    def context(self, name):
        made_of = ssl.create_default_context(cafile=self.made.path("ca.crt"))
        made_of.load_cert_chain(self.made.path(name + ".crt"), self.made.path(name + ".key"))
        return made_of

    @staticmethod
    def status(connection):
        connection.request("GET", "/api/v1/services")
        response = connection.getresponse()
        response.read()
        return response.status


if __name__ == "__main__":
    main()
