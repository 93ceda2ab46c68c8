"""Pages of other sites: what a browser may be made to send to the ports of its own host. Requests are written by hand, and
sent by a real browser, in which a stranger's name resolves to 127.0.0.1."""

import contextlib
import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import unittest

from harness import otlp, raw
from harness.main import main
from harness.ports import free_port
from harness.server import Server, until

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium-headless-shell")
STRANGER = "evil.example"
# What it could read or store shows in the page's text.
PAGE = """<!doctype html><title>evil</title><p id=said></p><script>
const said = [];
const tell = (what) => { said.push(what); document.getElementById("said").textContent = said.join(" "); };
const ask = (name, url, how) => fetch(url, how).then((reply) => reply.text()).then(
    (text) => tell(`${name}:read:${text.length}`), () => tell(`${name}:failed`));
Promise.all([
  ask("services", "http://HTTP/api/v1/services", {}),
  ask("metrics", "http://AGENT/metrics", {}),
  ask("capture", "http://HTTP/api/v1/captures", {method: "POST", body: '{"service":"shop"}'}),
  ask("spans", "http://OTLP/v1/traces", {method: "POST", mode: "no-cors", body: SPANS}),
]).then(() => tell("done"));
</script>"""


def request(host, path="/api/v1/services", method="GET", body=b"", **headers):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Access(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent_http = f"127.0.0.1:{free_port()}"
        cls.server = Server(arguments=["--agent-http", cls.agent_http])
        cls.addClassCleanup(cls.server.__exit__, None, None, None)
        cls.server.__enter__()
        until(lambda: raw.status_of(raw.poke(cls.agent_http, request("localhost", "/metrics"))) == 200, "the agent's port")

    def status(self, address, data):
        return raw.status_of(raw.poke(address, data))

    def ports(self):
        return [(self.server.http, "/api/v1/services"), (self.server.http, "/healthz"), (self.server.http, "/metrics"),
                (self.server.http, "/"), (self.agent_http, "/metrics"), (self.agent_http, "/healthz")]

    def test_a_strangers_host_name_is_not_answered(self):
        for address, path in self.ports():
            port = address.rpartition(":")[2]
            for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
                self.assertEqual(self.status(address, request(host, path)), 200, (path, host))
            for host in (f"{STRANGER}:{port}", f"localhost.{STRANGER}:{port}"):
                self.assertEqual(self.status(address, request(host, path)), 403, (path, host))

    def test_what_pages_of_other_sites_ask_for_is_not_answered(self):
        for address, path in self.ports():
            self.assertEqual(self.status(address, request(address, path, Sec_Fetch_Site="cross-site")), 403, path)
            self.assertEqual(self.status(address, request(address, path, Origin=f"http://{STRANGER}")), 403, path)
            self.assertEqual(self.status(address, request(address, path, Origin=f"http://{address}")), 200, path)
        link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
        self.assertEqual(self.status(self.server.http, request(self.server.http, "/", **link)), 200, "a link")

    def test_pages_of_other_sites_store_no_spans(self):
        trace = otlp.trace_id()
        body = json.dumps(otlp.request("shop", [otlp.span(trace, "forged", 5)])).encode()
        post = lambda host, **headers: self.status(self.server.otlp_http, request(
            host, "/v1/traces", "POST", body, Content_Type="application/json", **headers))
        address = self.server.otlp_http
        self.assertEqual(post(address, Origin=f"http://{STRANGER}"), 403)
        self.assertEqual(post(address, Sec_Fetch_Site="cross-site"), 403)
        self.assertEqual(post(f"{STRANGER}:4318"), 403)
        self.assertEqual(post(address), 200)
        self.assertEqual(len(until(lambda: self.server.trace(trace), "the span of a program")["spans"]), 1)

    def test_a_configured_name_is_answered(self):
        with Server(arguments=["--allowed-host", "traces.example"]) as server:
            port = server.http.rpartition(":")[2]
            self.assertEqual(self.status(server.http, request(f"traces.example:{port}")), 200)
            self.assertEqual(self.status(server.http, request(f"{STRANGER}:{port}")), 403)


class Stranger(http.server.BaseHTTPRequestHandler):
    page = ""

    def do_GET(self):  # noqa: N802, the base class names it
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.page.encode())

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def stranger(page):
    """A site that serves this page; its port."""
    handler = type("Handler", (Stranger,), {"page": page})
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    try:
        yield site.server_port
    finally:
        site.shutdown()
        thread.join()
        site.server_close()


def browse(url):
    """The page as it is when its scripts are done."""
    with tempfile.TemporaryDirectory() as profile:
        shown = subprocess.run(
            [CHROMIUM, "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--virtual-time-budget=20000",
             f"--host-resolver-rules=MAP {STRANGER} 127.0.0.1", "--dump-dom", url],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, check=True, text=True)
    return shown.stdout


@unittest.skipUnless(pathlib.Path(CHROMIUM).exists(), f"{CHROMIUM} is not there: apt install chromium-headless-shell")
class HostilePage(unittest.TestCase):
    def test_a_page_of_another_site_reads_and_stores_nothing(self):
        agent_http = f"127.0.0.1:{free_port()}"
        with Server(arguments=["--agent-http", agent_http]) as server:
            trace = otlp.trace_id()
            spans = json.dumps(json.dumps(otlp.request("shop", [otlp.span(trace, "forged", 5)])))
            page = PAGE.replace("SPANS", spans).replace("OTLP", server.otlp_http).replace("AGENT", agent_http)
            with stranger(page.replace("HTTP", server.http)) as port:
                shown = browse(f"http://{STRANGER}:{port}/")
            self.assertIn("done</p>", shown)
            for name in ("services", "metrics", "capture"):
                self.assertIn(f"{name}:failed", shown)
            self.assertIsNone(server.trace(trace))

    def test_a_site_whose_name_resolves_to_this_host_is_not_taken_for_it(self):
        with Server() as server:
            otlp.send(server.otlp_http, otlp.request("secret-shop", [otlp.span(otlp.trace_id(), "pay", 5)]))
            port = server.http.rpartition(":")[2]
            read = lambda host: browse(f"http://{host}:{port}/api/v1/services")
            self.assertIn("secret-shop", until(lambda: (said := read("127.0.0.1")) and "secret-shop" in said and said,
                                               "the service"))
            refused = read(STRANGER)
            self.assertNotIn("secret-shop", refused)
            self.assertIn("--allowed-host", refused)


if __name__ == "__main__":
    main()
