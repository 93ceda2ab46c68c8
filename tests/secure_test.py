"""TLS, client certificates and tokens at every listener of the real programs: who is let in, and what the others are told."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import tempfile
import threading
import unittest

from harness import otlp
from harness.certificates import Certificates
from harness.daemon import FREE_PORTS, Daemon, run
from harness.http2 import DATA, END_HEADERS, HEADERS, PREFACE, SETTINGS, frame, header_block
from harness.main import main
from harness.server import PATIENCE_S, Server, cli, until

USAGE, UNREACHABLE, REFUSED, LOCAL_FAILURE = 2, 3, 4, 5
END_STREAM = 1
TOKEN = "right-" + "0" * 26
WRONG = "wrong-" + "0" * 26
HTTP = {"http": "/api/v1/services", "otlp_http": "/v1/traces"}
GRPC = {"otlp_grpc": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        "query_grpc": "/fathom.query.v1.QueryService/ListServices", "ingest": "/fathom.ingest.v1.Ingest/MissingImages"}
HEALTH = "/grpc.health.v1.Health/Check"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
LABELS = {"http": "query", "otlp_http": "otlp_http", "otlp_grpc": "otlp_grpc", "query_grpc": "query-grpc", "ingest": "ingest"}
UNAUTHENTICATED = b"grpc-status\x0216"
CONFIG = "data = {data}\nquery-grpc = 127.0.0.1:0\n" + FREE_PORTS


def setUpModule():
    global made
    made = Certificates()
    for name in ("server", "client", "renewed"):
        made.make(name)
    made.make("stranger", ca="other")
    made.make("elsewhere", names="DNS:traces.example")
    made.make("old", expired=True)
    made.write("tokens", f"# of this test\nann:{TOKEN}\n")
    made.write("wrong-tokens", WRONG + "\n")
    for name in ("tokens", "wrong-tokens"):
        os.chmod(made.path(name), 0o600)


def tearDownModule():
    made.close()


def tls_keys(certificate="server", client_ca=None, tokens=False):
    return made.keys(certificate, client_ca) + (f"token-file = {made.path('tokens')}\n" if tokens else "")


def context(ca="ca", certificate=None):
    made_of = ssl.create_default_context(cafile=made.path(ca + ".crt"))
    if certificate:
        made_of.load_cert_chain(made.path(certificate + ".crt"), made.path(certificate + ".key"))
    return made_of


def bearer(token):
    return {"Authorization": "Bearer " + token} if token else {}


def http_status(server, listener, tls, token=None):
    """(status, headers, body) of one request; raises what the connection raises."""
    address = server.addresses[listener]
    connection = (http.client.HTTPSConnection(address, timeout=PATIENCE_S, context=tls) if tls
                  else http.client.HTTPConnection(address, timeout=PATIENCE_S))
    try:
        if listener == "otlp_http":
            connection.request("POST", HTTP[listener], json.dumps(otlp.request("checkout", [])),
                               {"Content-Type": "application/json", **bearer(token)})
        else:
            connection.request("GET", HTTP[listener], headers=bearer(token))
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()
    finally:
        connection.close()


def http_get(server, path, tls, token=TOKEN):
    connection = http.client.HTTPSConnection(server.addresses["http"], timeout=PATIENCE_S, context=tls)
    connection.request("GET", path, headers=bearer(token))
    response = connection.getresponse()
    answer = response.status, dict(response.getheaders()), response.read().decode()
    connection.close()
    return answer


def serial_and_status(connection):
    """Of the certificate that the other end of this connection shows, and of a question asked over it."""
    connection.request("GET", "/api/v1/services", headers=bearer(TOKEN))
    response = connection.getresponse()
    response.read()
    return connection.sock.getpeercert()["serialNumber"], response.status


def grpc_answer(server, listener, tls, token=None, path=None):
    """What a call with an empty message is answered, as bytes of HTTP/2: headers are not packed there."""
    host, port = server.addresses[listener].rsplit(":", 1)
    plain = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
    fields = [(":method", "POST"), (":scheme", "https"), (":path", path or GRPC[listener]), (":authority", "x"),
              ("content-type", "application/grpc"), ("te", "trailers")]
    fields += [("authorization", "Bearer " + token)] if token else []
    if tls:
        tls.set_alpn_protocols(["h2"])
        plain = tls.wrap_socket(plain, server_hostname=host)
        assert plain.selected_alpn_protocol() == "h2"
    heard = b""
    with plain:
        plain.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 1, header_block(fields)) +
                      frame(DATA, END_STREAM, 1, b"\x00\x00\x00\x00\x00"))
        while b"grpc-status" not in heard or not heard.split(b"grpc-status")[-1]:
            more = plain.recv(65536)
            if not more:
                break
            heard += more
    return heard


def ask(server, listener, tls, token=None):
    """True: let in; False: the token was refused."""
    if listener in HTTP:
        status, headers, body = http_status(server, listener, tls, token)
        if status == 401:
            assert headers["WWW-Authenticate"].startswith("Bearer"), headers
            assert "authorization: Bearer TOKEN" in body, body
        return status == 200
    heard = grpc_answer(server, listener, tls, token)
    assert b"grpc-status" in heard, heard
    return UNAUTHENTICATED not in heard


class Case(unittest.TestCase):
    def start(self, keys):
        data = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.addCleanup(data.cleanup)
        server = Daemon("fathom-server", CONFIG.format(data=data.name) + keys)
        server.__enter__()
        self.addCleanup(lambda: server.__exit__(None))
        return server


class Listeners(Case):
    def counted(self, server, name, listener, reason, tls, token=None):
        pattern = re.compile(rf'^{name}{{listener="{LABELS[listener]}",reason="{reason}"}} (\d+)', re.M)

        def count():
            connection = http.client.HTTPSConnection(server.addresses["http"], timeout=PATIENCE_S, context=tls)
            connection.request("GET", "/metrics", headers=bearer(token))
            found = pattern.search(connection.getresponse().read().decode())
            connection.close()
            return found and int(found.group(1)) > 0

        until(count, f"{name} of {listener} to count {reason}")

    def test_tls(self):
        server = self.start(tls_keys())
        for listener in LABELS:
            self.assertTrue(ask(server, listener, context()))
            with self.assertRaises(ssl.SSLCertVerificationError):
                ask(server, listener, context("other"))
            self.counted(server, "fathom_tls_refused_total", listener, "peer_refused", context())
            if listener in HTTP:
                status, _, body = http_status(server, listener, None)
                self.assertEqual(status, 400)
                self.assertIn("this port speaks TLS: write https://", body)
            else:
                self.assertIn(b"this port speaks TLS", grpc_answer(server, listener, None))
            self.counted(server, "fathom_tls_refused_total", listener, "not_tls", context())

    def test_client_certificates(self):
        server = self.start(tls_keys(client_ca="ca"))
        mine = lambda: context(certificate="client")
        for listener in LABELS:
            self.assertTrue(ask(server, listener, mine()))
            for certificate, reason in ((None, "no_certificate"), ("stranger", "certificate"), ("old", "certificate")):
                with self.assertRaises((OSError, http.client.HTTPException, AssertionError)):
                    ask(server, listener, context(certificate=certificate))
                self.counted(server, "fathom_tls_refused_total", listener, reason, mine())
        server.says("reason=no_certificate: it shows no certificate")

    def test_tokens(self):
        for keys, tls in ((tls_keys(tokens=True), context), (f"token-file = {made.path('tokens')}\n", lambda: None)):
            server = self.start(keys)
            for listener in LABELS:
                self.assertTrue(ask(server, listener, tls(), TOKEN))
                self.assertFalse(ask(server, listener, tls()))
                self.assertFalse(ask(server, listener, tls(), WRONG))
                if tls():
                    self.counted(server, "fathom_auth_refused_total", listener, "missing", tls(), TOKEN)
                    self.counted(server, "fathom_auth_refused_total", listener, "wrong", tls(), TOKEN)
                    with self.assertRaises(ssl.SSLCertVerificationError):
                        ask(server, listener, context("other"), TOKEN)

    def test_health_is_open(self):
        server = self.start(tls_keys(tokens=True))
        connection = http.client.HTTPSConnection(server.addresses["http"], timeout=PATIENCE_S, context=context())
        connection.request("GET", "/healthz")
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()

    def test_hangup_loads_certificates_and_tokens(self):
        for file in ("crt", "key"):
            pathlib.Path(made.path("live." + file)).write_bytes(pathlib.Path(made.path("server." + file)).read_bytes())
        made.write("live-tokens", TOKEN + "\n")
        server = self.start(tls_keys("live") + f"token-file = {made.path('live-tokens')}\n")
        for listener in LABELS:
            self.assertTrue(ask(server, listener, context(), TOKEN))
        made.make("live", ca="other")
        made.write("live-tokens", WRONG + "\n")
        server.says("read again", server.hang_up())
        for listener in LABELS:
            self.assertTrue(ask(server, listener, context("other"), WRONG))
            self.assertFalse(ask(server, listener, context("other"), TOKEN))
        made.write("live.crt", "half")
        server.says("all stays as it was: ", server.hang_up())
        self.assertTrue(ask(server, "http", context("other"), WRONG))

    def test_hangup_takes_over_all_or_nothing(self):
        made.make("live")
        made.write("live-tokens", TOKEN + "\n")
        server = self.start(tls_keys("live") + f"token-file = {made.path('live-tokens')}\n")
        expires = self.expires(server, context())
        made.make("live", ca="other", days=20)
        made.write("live-tokens", "short\n")
        server.says("all stays as it was: ", server.hang_up())
        server.says("token-file: ")
        for listener in LABELS:
            self.assertTrue(ask(server, listener, context(), TOKEN))
        self.assertEqual(self.expires(server, context()), expires)
        made.write("live-tokens", TOKEN + "\n")
        server.says("read again", server.hang_up())
        self.assertGreater(self.expires(server, context("other")), expires)

    def expires(self, server, tls):
        _, _, text = http_get(server, "/metrics", tls)
        return int(re.search(r"^fathom_tls_certificate_expires_seconds (\d+)", text, re.M).group(1))

    def test_a_renewed_certificate_drops_no_connection(self):
        made.make("live")
        server = self.start(tls_keys("live") + f"token-file = {made.path('tokens')}\n")
        kept = http.client.HTTPSConnection(server.addresses["http"], timeout=PATIENCE_S, context=context())
        self.assertEqual(serial_and_status(kept)[1], 200)
        local, old = kept.sock.getsockname(), serial_and_status(kept)[0]
        made.make("live")
        server.says("read again", server.hang_up())
        self.assertEqual(serial_and_status(kept), (old, 200))
        self.assertEqual(kept.sock.getsockname(), local, "the connection of before is used")
        kept.close()
        anew = http.client.HTTPSConnection(server.addresses["http"], timeout=PATIENCE_S, context=context())
        self.assertNotEqual(serial_and_status(anew)[0], old)
        anew.close()

    def test_the_log_names_who_sends_no_token(self):
        for keys, tls in ((tls_keys(tokens=True), context), (f"token-file = {made.path('tokens')}\n", lambda: None)):
            server = self.start(keys)
            for listener in LABELS:
                for _ in range(20):
                    ask(server, listener, tls())
                found = re.findall(rf"refused listener={LABELS[listener]} peer=(\S+) reason=missing: it sends no token", server.log_text())
                self.assertRegex(found[0], r"^(ipv4:)?127\.0\.0\.1:\d+$")
                self.assertLess(len(found), 20, "a line a second is enough")

    def test_grpc_is_probed_without_a_token_and_not_listed(self):
        server = self.start(tls_keys(tokens=True))
        for listener in ("otlp_grpc", "ingest"):
            self.assertIn(b"grpc-status\x010", grpc_answer(server, listener, context(), path=HEALTH))
        for listener in GRPC:
            heard = grpc_answer(server, listener, context(), path=REFLECTION)
            self.assertNotIn(b"TraceService", heard)
            self.assertNotIn(b"grpc-status\x010", heard)
        for listener in ("otlp_grpc", "query_grpc"):
            self.assertIn(UNAUTHENTICATED, grpc_answer(server, listener, context(), path="/no.such.Service/Call"))


class AtTheStart(unittest.TestCase):
    def test_what_cannot_be_used_is_said_with_the_cure(self):
        for program, keys, words in (
                ("fathom-server", tls_keys("old"), "expired on 2020-02-01"),
                ("fathom-server", tls_keys().replace("server.key", "client.key"), "is not that of the certificate in"),
                ("fathom-server", tls_keys().replace("server.key", "client.key"), "bad.conf:2: tls-key: "),
                ("fathom-server", tls_keys("nowhere"), "bad.conf:1: tls-certificate: cannot read"),
                ("fathom-server", tls_keys().replace("server.key", "nowhere"), "bad.conf:2: tls-key: cannot read"),
                ("fathom-server", tls_keys(client_ca="nowhere"), "bad.conf:3: tls-client-ca: cannot read"),
                ("fathom-server", tls_keys() + "token-file = /nowhere", "bad.conf:3: token-file: cannot read"),
                ("fathom-agent", f"collector-ca = {made.path('ca.key')}", "bad.conf:1: collector-ca: '"),
                ("fathom-agent", f"collector-ca = {made.path('ca.key')}", "has a private key: are two files mixed up?"),
                ("fathom-agent", f"collector-certificate = {made.path('client.crt')}", "go together; give both")):
            with self.subTest(keys=keys):
                status, _, says = run(program, "--config", made.write("bad.conf", keys), "--check-config")
                self.assertEqual(status, USAGE)
                self.assertIn(words, says)


class Ending(Case):
    """Certificates that end within 14 days: said at the start, by --check-config, and when they are read again."""

    def test_a_server_says_which_and_when(self):
        made.make("live", days=40)
        server = self.start(tls_keys("live", client_ca="ca"))
        self.assertNotIn("expires on", server.log_text())
        made.make("live", days=5)
        server.says(f"--tls-certificate: what is in '{made.path('live.crt')}' expires on ", server.hang_up())
        server.says("and connections are refused from then on; have a new one made")
        self.assertRegex(server.log_text(), r"expires on \d{4}-\d\d-\d\d \d\d:\d\d UTC, in [45] days,")

    def test_an_agent_says_it_of_what_it_shows(self):
        made.make("live", days=5)
        keys = f"collector-certificate = {made.path('live.crt')}\ncollector-key = {made.path('live.key')}\n"
        status, _, says = run("fathom-agent", "--config", made.write("ending.conf", keys), "--check-config")
        self.assertEqual(status, 0)
        self.assertIn("--collector-certificate: what is in", says)
        self.assertRegex(says, "in [45] days,")


class Commands(Case):
    """`fathom` itself: what it says to a person, and how it ends."""

    def ask_cli(self, url, status, *words, env=None):
        return cli("services", "--url", url, *words, env=env, check=status).stderr

    def test_messages_name_the_cure(self):
        server = self.start(tls_keys(client_ca="ca", tokens=True))
        url = "https://" + server.addresses["http"]
        ca = ["--ca", made.path("ca.crt")]
        mine = ["--certificate", made.path("client.crt"), "--key", made.path("client.key")]
        token = ["--token-file", made.path("tokens")]
        self.ask_cli(url, 0, *ca, *mine, *token)
        self.ask_cli(url, 0, env={"FATHOM_CA": ca[1], "FATHOM_CERTIFICATE": mine[1], "FATHOM_KEY": mine[3],
                                  "FATHOM_TOKEN_FILE": token[1]})
        for words, status, says in (
                ([*mine, *token], UNREACHABLE, "--ca FILE"),
                (["--ca", made.path("other.crt"), *mine], UNREACHABLE, "signed by another CA that is not in"),
                ([*ca, *token], UNREACHABLE, "wants a certificate of its clients: --certificate FILE --key FILE"),
                ([*ca, "--certificate", made.path("stranger.crt"), "--key", made.path("stranger.key")], UNREACHABLE,
                 "does not know the CA of"),
                ([*ca, "--certificate", made.path("old.crt"), "--key", made.path("old.key")], USAGE, "expired on 2020-02-01"),
                ([*ca, *mine], REFUSED, "401: a token is missing"),
                ([*ca, *mine], REFUSED, "--token-file FILE"),
                ([*ca, *mine, "--token-file", made.path("wrong-tokens")], REFUSED, "401: the token is none of this server's")):
            with self.subTest(words=words):
                self.assertIn(says, self.ask_cli(url, status, *words))
        self.assertIn("this port speaks TLS: write https://", self.ask_cli("http://" + server.addresses["http"], REFUSED))

    def test_a_server_without_tls(self):
        server = self.start("")
        self.assertIn("speaks no TLS; is http:// meant", self.ask_cli("https://" + server.addresses["http"], UNREACHABLE))

    def test_tokens_do_not_leave_in_the_clear(self):
        says = self.ask_cli("http://traces.example:7070", USAGE, "--token-file", made.path("tokens"))
        self.assertIn("in the clear", says)

    def test_certificates_of_others(self):
        for name, says in (("old", "it expired on 2020-02-01"), ("elsewhere", "it is for traces.example only")):
            with self.subTest(name=name), stand_in(name) as address:
                self.assertIn(says, self.ask_cli("https://" + address, UNREACHABLE, "--ca", made.path("ca.crt")))


def nodes(server, tls):
    return json.loads(http_get(server, "/api/v1/nodes", tls)[2])["nodes"]


class stand_in:
    """A server of TLS that fathom-server would refuse to be."""

    def __init__(self, certificate):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(made.path(certificate + ".crt"), made.path(certificate + ".key"))
        self.listening = socket.create_server(("127.0.0.1", 0))

    def __enter__(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return f"127.0.0.1:{self.listening.getsockname()[1]}"

    def __exit__(self, *_):
        self.listening.close()

    def serve(self):
        while True:
            try:
                peer, _ = self.listening.accept()
                self.context.wrap_socket(peer, server_side=True).close()
            except OSError:
                if self.listening.fileno() < 0:
                    return


class Agents(Case):
    def agent(self, collector, keys):
        state = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.addCleanup(state.cleanup)
        agent = Daemon("fathom-agent", f"agent-socket = {state.name}/a.sock\nstate = {state.name}/s\n"
                                       f"kernel-events = off\ncollector = {collector}\n{keys}")
        agent.__enter__()
        self.addCleanup(lambda: agent.__exit__(None))
        return agent

    def test_the_collector_is_reached_or_it_is_said_why_not(self):
        server = self.start(tls_keys(client_ca="ca", tokens=True))
        ingest = server.addresses["ingest"]
        ca = f"collector-ca = {made.path('ca.crt')}\n"
        mine = f"collector-certificate = {made.path('client.crt')}\ncollector-key = {made.path('client.key')}\n"
        token = f"collector-token-file = {made.path('tokens')}\n"
        for keys, says in (
                (ca.replace("ca.crt", "other.crt") + mine + token, "signed by another CA that is not in"),
                (ca + token, "wants a certificate of its clients: --collector-certificate FILE --collector-key FILE"),
                (ca + mine.replace("client", "stranger"), "does not know the CA of"),
                (ca + mine, "a token is missing"),
                (ca + mine, "--collector-token-file FILE"),
                (ca + mine + token.replace("tokens", "wrong-tokens"), "the token is none of this server's"),
                ("", "where the collector speaks TLS: --collector-tls, or --collector-ca FILE")):
            with self.subTest(keys=keys):
                self.agent(ingest, keys).says(says)
        agent = self.agent(ingest, ca + mine + token)
        until(lambda: nodes(server, context(certificate="client")), f"the agent among the server's nodes; it says\n{agent.log_text()}")

    def test_a_renewed_certificate_keeps_the_agents_stream(self):
        made.make("live")
        server = self.start(tls_keys("live") + f"token-file = {made.path('tokens')}\n")
        agent = self.agent(server.addresses["ingest"], f"collector-ca = {made.path('ca.crt')}\ncollector-token-file = {made.path('tokens')}\n")
        until(lambda: nodes(server, context()), "the agent among the server's nodes")
        made.make("live")
        server.says("read again", server.hang_up())
        heard = nodes(server, context())[0]["last_seen_unix_nano"]
        until(lambda: nodes(server, context())[0]["last_seen_unix_nano"] != heard, "it goes on speaking")
        self.assertEqual(agent.log_text().count(") takes spans"), 1, "by the stream that it had")
        self.assertNotIn("no stream", agent.log_text())

    def test_certificates_of_others(self):
        for name, says in (("old", "it expired on 2020-02-01"), ("elsewhere", "it is for traces.example only")):
            with self.subTest(name=name), stand_in(name) as address:
                self.agent(address, f"collector-ca = {made.path('ca.crt')}\n").says(says)

    def test_its_own_listener(self):
        agent = self.agent("127.0.0.1:1", "http = 127.0.0.1:0\n" + tls_keys(tokens=True))
        address = until(lambda: re.search(r"metrics at https://(\S+)/metrics", agent.log_text()), "its address").group(1)
        for path, token, status in (("/tracepoints", None, 401), ("/tracepoints", WRONG, 401), ("/tracepoints", TOKEN, 200),
                                    ("/metrics", None, 200)):  # on a loopback address
            connection = http.client.HTTPSConnection(address, timeout=PATIENCE_S, context=context())
            connection.request("GET", path, headers=bearer(token))
            self.assertEqual(connection.getresponse().status, status, path)
            connection.close()


class Up(unittest.TestCase):
    """`fathom up` hands TLS and tokens to its server, and its agent is let in there."""

    def test_its_agent_is_let_in_and_hangup_reaches_them(self):
        made.make("live")
        words = ["--tls-certificate", made.path("live.crt"), "--tls-key", made.path("live.key"), "--tls-client-ca", made.path("ca.crt"),
                 "--token-file", made.path("tokens"), "--collector-ca", made.path("ca.crt"), "--collector-certificate",
                 made.path("client.crt"), "--collector-key", made.path("client.key")]
        with Server(arguments=words) as up:
            ask_it = ["nodes", "--url", "https://" + up.http, "--ca", made.path("ca.crt"), "--certificate", made.path("client.crt"),
                      "--key", made.path("client.key"), "--token-file", made.path("tokens"), "--format", "json"]
            until(lambda: json.loads(cli(*ask_it, check=0).stdout), f"the agent among the nodes; the log is\n{up.log_text()}")
            self.assertEqual(cli("nodes", "--url", "https://" + up.http, "--ca", made.path("ca.crt")).returncode, UNREACHABLE)
            made.make("live")
            up.process.send_signal(signal.SIGHUP)
            until(lambda: "read again" in up.log_text(), "the server to read its certificate again")
            cli(*ask_it, check=0)

    def test_what_its_agent_lacks_is_said(self):
        for words, says in ((["--collector-ca", "/ca"], "the server speaks no TLS: --tls-certificate FILE --tls-key FILE"),
                            (["--tls-certificate", "/c"], "its key is missing: --tls-key FILE"),
                            (["--token-file", "/t", "--http", "0.0.0.0:0"], "tokens would go to 0.0.0.0:0 in the clear"),
                            (["--token-file", made.path("tokens"), "--collector-token-file", made.path("wrong-tokens")],
                             "--collector-token-file: the token in")):
            self.assertIn(says, cli("up", *words, check=USAGE).stderr)

    def test_it_ends_where_its_agent_and_its_server_would_not_agree(self):
        free = ["--http", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0", "--ingest", "127.0.0.1:0"]
        ca = ["--collector-ca", made.path("ca.crt")]
        mine = lambda name: ["--tls-client-ca", made.path("ca.crt"), "--collector-certificate", made.path(name + ".crt"),
                             "--collector-key", made.path(name + ".key")]
        for name, words, says in (
                ("server", ["--collector-ca", made.path("other.crt")], "give the CA that signed it: --collector-ca FILE"),
                ("server", [], "that is not in this host's list; give the CA that signed it: --collector-ca FILE"),
                ("elsewhere", ca, "it is for traces.example only; connect by one of these names (--ingest)"),
                ("server", [*ca, *mine("stranger")], "show one of its client CA: --collector-certificate FILE --collector-key FILE")):
            with self.subTest(name=name, words=words), tempfile.TemporaryDirectory(prefix="fathom-test-") as data:
                ended = cli("up", *free, "--data", data, "--agent-socket", data + "/a.sock", "--tls-certificate",
                            made.path(name + ".crt"), "--tls-key", made.path(name + ".key"), *words, check=LOCAL_FAILURE)
                self.assertEqual(ended.stdout, "")
                last = ended.stderr.splitlines()[-1]
                self.assertTrue(last.startswith("fathom: the agent cannot send to its server: 127.0.0.1:"), last)
                self.assertIn(says, last)


if __name__ == "__main__":
    main()
