"""OpenTelemetry's SDKs, unchanged, before a server that asks for TLS, a client certificate and a token: the variables that
docs/security.md names let them in, and who is not let in is named in the server's log."""

import os
import tempfile
import unittest

from harness import sdks
from harness.certificates import Certificates
from harness.daemon import FREE_PORTS, Daemon
from harness.main import main
from harness.server import cli, until

TOKEN = "right-" + "0" * 26
WRONG = "wrong-" + "0" * 26
REFUSED_S = 3  # for so long an SDK tries again where that is of no use


def setUpModule():
    global made
    made = Certificates()
    made.make("server")
    made.make("client")
    made.make("old", expired=True)
    made.make("stranger", ca="other")
    made.write("tokens", TOKEN + "\n")
    os.chmod(made.path("tokens"), 0o600)


def tearDownModule():
    made.close()


class Sdk:
    """Of each SDK, below."""

    @classmethod
    def setUpClass(cls):
        cls.sdk.command()  # skips where the SDK is not installed
        data = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="fathom-test-"))
        keys = made.keys("server", "ca") + f"token-file = {made.path('tokens')}\n"
        cls.server = cls.enterClassContext(Daemon("fathom-server", f"data = {data}\n{FREE_PORTS}{keys}"))

    def send(self, protocol, ca="ca", certificate="client", token=TOKEN, scheme="https", **more):
        listener = "otlp_grpc" if protocol == "grpc" else "otlp_http"
        return sdks.send(self.sdk, protocol, f"{scheme}://{self.server.addresses[listener]}", ca and made.path(ca + ".crt"),
                         certificate and made.path(certificate), token, **more)

    def is_stored(self, trace):
        url = "https://" + self.server.addresses["http"]
        return cli("trace", trace, "--url", url, "--ca", made.path("ca.crt"), "--certificate", made.path("client.crt"), "--key",
                   made.path("client.key"), "--token-file", made.path("tokens"), "--format", "json").returncode == 0

    def test_certificate_and_token_let_it_in(self):
        for protocol in self.sdk.protocols:
            with self.subTest(protocol=protocol):
                trace, says = self.send(protocol)
                until(lambda: self.is_stored(trace), f"trace '{trace}'; the SDK says\n{says}", seconds=20)

    def test_who_is_not_let_in_is_named(self):
        trusts_not = ("reason=peer_refused: it does not accept our certificate", "reason=cut_off: it cut the connection off within the "
                      "handshake; does it trust the CA of our certificate")
        # Go's shows only what a server's list of CAs asks for, and then nothing.
        of_others = ("reason=certificate: its certificate: it is signed by another CA", "reason=no_certificate")
        for protocol in ("grpc", "http/protobuf"):
            listener = "otlp_grpc" if protocol == "grpc" else "otlp_http"
            for given, lines in (({"token": None}, ["reason=missing: it sends no token"]),
                                 ({"token": WRONG}, ["reason=wrong: its token is none of ours"]),
                                 ({"ca": "other"}, trusts_not),
                                 ({"certificate": None}, ["reason=no_certificate: it shows no certificate"]),
                                 ({"certificate": "old"}, ["reason=certificate: its certificate: it expired on 2020-02-01"]),
                                 ({"scheme": "http", "ca": None, "certificate": None}, ["reason=not_tls: it speaks no TLS"])):
                with self.subTest(protocol=protocol, given=given):
                    self.is_refused(protocol, listener, given, lines)
            with self.subTest(protocol=protocol, given="a certificate of others"):
                until(lambda: self.refused_again(protocol, listener, of_others), f"the log to name it\n{self.server.log_text()}")

    def is_refused(self, protocol, listener, given, lines):
        end = len(self.server.log_text())
        trace, says = self.send(protocol, timeout_s=REFUSED_S, **given)
        log = self.server.log_text()[end:]
        self.assertTrue(any(f"refused listener={listener} peer=127.0.0.1:" in line and any(words in line for words in lines)
                            for line in log.splitlines()), f"{log}---\n{says}")
        self.assertTrue(says.strip(), "the SDK's user learns nothing")
        if "token" in given:
            self.assertRegex(says, "token is|401")
        self.assertFalse(self.is_stored(trace))

    # One reason makes a line a second at most, and this one has just been there.
    def refused_again(self, protocol, listener, lines):
        end = len(self.server.log_text())
        self.send(protocol, certificate="stranger", timeout_s=REFUSED_S)
        return any(f"listener={listener}" in line and any(words in line for words in lines)
                   for line in self.server.log_text()[end:].splitlines())


class Node(Sdk, unittest.TestCase):
    sdk = sdks.Node


class Python(Sdk, unittest.TestCase):
    sdk = sdks.Python


class Go(Sdk, unittest.TestCase):
    sdk = sdks.Go


if __name__ == "__main__":
    main()
