"""The token that `fathom up` makes: who gets it, and what may be done without it. Two users, an impostor on the server's
port, a real browser."""

import json
import os
import pathlib
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

from access_test import CHROMIUM, browse
from harness import otlp
from harness.main import main
from harness.ports import free_port
from harness.server import BIN, FATHOM, Server, cli, until

AS_ROOT = unittest.skipUnless(os.geteuid() == 0, "only root can start programs of another user")
REFUSED = 4  # exit status: the server answered with an error
# An impostor: asks for a token, names a file, and prints which token it is sent.
IMPOSTOR = """
import encodings.idna, http.server, os, sys
os.setgroups([])
os.setgid(int(sys.argv[4]))
os.setuid(int(sys.argv[3]))
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_HEAD(self):
        self.do_GET()
    def do_GET(self):
        print(self.headers.get("Authorization"), flush=True)
        self.send_response(401)
        self.send_header("WWW-Authenticate", f'Bearer realm="fathom", token_file="{sys.argv[2]}"')
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("ready", flush=True)
server.serve_forever()
"""


def status_of(server, path, token="", method="GET", body=None):
    headers = {"Content-Type": "application/json", "Accept": "text/html, */*"} | ({"Authorization": f"Bearer {token}"} if token else {})
    asked = urllib.request.Request(server.url + path, method=method, headers=headers,
                                   data=body.encode() if body is not None else None)
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def token_of(server):
    return pathlib.Path(server.data, "query-token").read_text(encoding="ascii").strip().rpartition(":")[2]


class QueryToken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(token=True)
        cls.addClassCleanup(cls.server.__exit__, None, None, None)
        cls.server.__enter__()
        otlp.send(cls.server.otlp_http, otlp.request("shop", [otlp.span(otlp.trace_id(), "pay", 5_000_000)]))
        until(lambda: "shop" in cli("services", "--url", cls.server.url, check=0).stdout, "the service")

    def test_its_file_is_its_owners(self):
        about = os.stat(pathlib.Path(self.server.data, "query-token"))
        self.assertEqual((stat.S_IMODE(about.st_mode), about.st_uid), (0o600, os.geteuid()))

    def test_queries_and_control_need_it(self):
        for path in ("/api/v1/services", "/api/v1/snapshots", "/api/v1/nodes"):
            self.assertEqual(status_of(self.server, path)[0], 401, path)
            self.assertEqual(status_of(self.server, path, "f" * 64)[0], 401, path)
            self.assertEqual(status_of(self.server, path, token_of(self.server))[0], 200, path)
        capture = '{"service":"shop","duration":"10ms"}'
        self.assertEqual(status_of(self.server, "/api/v1/captures", "", "POST", capture)[0], 401)
        self.assertEqual(status_of(self.server, "/api/v1/page-links", "", "POST", "{}")[0], 401)

    def test_probes_metrics_the_page_and_spans_need_none(self):
        for path in ("/healthz", "/readyz", "/metrics", "/"):
            self.assertEqual(status_of(self.server, path)[0], 200, path)
        otlp.send(self.server.otlp_http, otlp.request("shop", [otlp.span(otlp.trace_id(), "pay", 5_000_000)]))

    def test_the_command_line_finds_it(self):
        self.assertIn("pay", cli("slowest", "--url", self.server.url, check=0).stdout)
        self.assertIn("shop", cli("services", "--url", self.server.url.replace("127.0.0.1", "localhost"), check=0).stdout)

    def test_a_link_gives_it_to_the_page_once(self):
        link = cli("page", "--url", self.server.url, check=0).stdout.strip()
        address, _, code = link.partition("#login=")
        self.assertEqual(address, self.server.url + "/")
        redeem = lambda: status_of(self.server, f"/api/v1/page-links/{code}", "", "POST", "{}")
        self.assertEqual(redeem(), (200, json.dumps({"token": token_of(self.server)}, separators=(",", ":"))))
        self.assertEqual(redeem()[0], 404)
        self.assertNotIn("#login=", self.server.log_text(), "others may read a log")

    @unittest.skipUnless(pathlib.Path(CHROMIUM).exists(), f"{CHROMIUM} is not there: apt install chromium-headless-shell")
    @unittest.skipUnless((BIN.parent / "share/fathom/page/index.html").exists(), "this build has no page")
    def test_a_browser_opens_the_link(self):
        self.assertIn("a token is missing", browse(self.server.url + "/"))
        link = cli("page", "--url", self.server.url, check=0).stdout.strip()
        shown = browse(link)
        self.assertNotIn("a token is missing", shown)
        self.assertIn("shop", shown)
        self.assertIn("The link was used already", browse(link))

    @AS_ROOT
    def test_another_user_is_refused_and_told_where_it_is(self):
        # That user may not reach the directory of this build.
        with tempfile.TemporaryDirectory(dir="/tmp") as directory:
            os.chmod(directory, 0o755)
            program = shutil.copy(FATHOM, directory)
            asked = subprocess.run([program, "services", "--url", self.server.url], user="nobody", group="nogroup", cwd="/",
                                   env={"PATH": "/usr/bin:/bin", "HOME": "/"}, extra_groups=[], capture_output=True, text=True,
                                   timeout=60, check=False)
        self.assertEqual(asked.returncode, REFUSED, asked.stderr)
        self.assertIn("Run this as the user who runs the server, or as root", asked.stderr)
        self.assertEqual(asked.stdout, "")

    @AS_ROOT
    def test_an_impostor_on_the_port_is_sent_no_token(self):
        port = free_port()
        nobody = pwd.getpwnam("nobody")
        words = [port, pathlib.Path(self.server.data, "query-token"), nobody.pw_uid, nobody.pw_gid]
        with subprocess.Popen([sys.executable, "-c", IMPOSTOR, *map(str, words)], stdout=subprocess.PIPE, text=True) as impostor:
            try:
                self.assertEqual(impostor.stdout.readline(), "ready\n")
                said = cli("services", "--url", f"http://127.0.0.1:{port}")
                self.assertEqual(said.returncode, REFUSED)
                self.assertIn("another user than its owner runs the server at this port", said.stderr)
                self.assertNotIn("--token-file FILE", said.stderr, "nobody is told to send it all the same")
            finally:
                impostor.terminate()
            self.assertEqual(set(impostor.stdout.read().split()), {"None"}, "what it was sent")


    def test_asking_for_the_file_is_no_refusal(self):
        refused = lambda: self.server.metrics()['fathom_auth_refused_total{listener="query",reason="missing"}']
        before = refused()
        cli("services", "--url", self.server.url, check=0)
        self.assertEqual(refused(), before)

    @AS_ROOT
    def test_another_user_reads_nothing_on_the_disk(self):
        listed = subprocess.run(["ls", self.server.data], user="nobody", group="nogroup", extra_groups=[], cwd="/",
                                capture_output=True, text=True, check=False)
        self.assertNotEqual(listed.returncode, 0)
        for path in pathlib.Path(self.server.data).rglob("*"):
            if path.is_file() and "/agent/" not in str(path):
                self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)


class FailedStarts(unittest.TestCase):
    def fails(self, *words):
        return subprocess.run([FATHOM, "up", "--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0", "--ingest",
                               "127.0.0.1:0", *words], capture_output=True, text=True, timeout=60, check=False)

    def test_new_data_is_open_to_the_network_only_on_purpose(self):
        with tempfile.TemporaryDirectory() as directory:
            words = ["--data", directory + "/data", "--agent-socket", directory + "/a.sock"]
            ended = self.fails(*words, "--http", "0.0.0.0:0")
            self.assertEqual(ended.returncode, 2)
            self.assertIn("in the clear", ended.stderr)
            ended = self.fails(*words, "--http", "127.0.0.1:0", "--agent-http", "0.0.0.0:0")
            self.assertEqual(ended.returncode, 2)
            self.assertIn("--agent-http: tokens would go to 0.0.0.0:0 in the clear", ended.stderr)

    def test_a_token_that_cannot_be_read_is_no_missing_one(self):
        with tempfile.TemporaryDirectory() as directory:
            data = pathlib.Path(directory, "data")
            (data / "store").mkdir(parents=True)
            (data / "query-token").symlink_to("/nowhere/secret")
            ended = self.fails("--data", str(data), "--agent-socket", directory + "/a.sock", "--http", "127.0.0.1:0")
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn("query-token", ended.stderr)


class EarlierData(unittest.TestCase):
    def test_goes_on_without_a_token_and_says_so(self):
        with Server() as earlier:
            earlier.ask("/api/v1/services")
            earlier.stop()
            with Server(data=earlier.data, token=True) as server:
                server.ask("/api/v1/services")
                self.assertFalse(pathlib.Path(server.data, "query-token").exists())
                self.assertIn("--query-token-file FILE asks for a token", server.log_text())

    def test_a_token_once_made_stays_over_a_restart(self):
        with Server(token=True) as first:
            token = token_of(first)
            first.stop()
            with Server(data=first.data, token=True) as second:
                self.assertEqual(status_of(second, "/api/v1/services", token)[0], 200)
                self.assertEqual(status_of(second, "/api/v1/services")[0], 401)


if __name__ == "__main__":
    main()
