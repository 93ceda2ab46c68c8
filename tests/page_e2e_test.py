"""The page in a browser, before a real server with real data: what it draws, what keys and pointer do, whether anybody can
read it, and what a stranger finds. ui/e2e/check.mjs has the checks; this makes the data, and says what is in it."""

import concurrent.futures
import datetime
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

from harness import otlp
from harness.main import main
from harness.server import BIN, ROOT, Server, cli, until

UI = ROOT / "ui"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium-headless-shell")
SECONDS = 600  # bounds hangs; two idle processors take a tenth
MS = 1_000_000
MINUTE = 60 * 1000 * MS
SPANS_PER_REQUEST = 2000
# Browsers wait, too, so three run on two processors. The longest parts start first.
PARTS = [("snapshot",), ("views",), ("trace",), ("timeline", "lists"), ("explore",), ("walks",), ("services",)]
MAX_BROWSERS = 3
# What happened yesterday: from a quarter past two on, two of checkout's four hosts run a version that is slow for one
# customer; nobody else notices.
OLD, NEW, CUSTOMER, SINCE = "2.3.1", "2.4.0", "umbrella", (14, 15)
CUSTOMERS = ["acme", "globex", "initech", "hooli", CUSTOMER, "stark", "wayne", "tyrell"]


def missing():
    """What a browser needs that is not here, and how to get it."""
    if not os.path.exists(CHROMIUM):
        return f"{CHROMIUM} is not there: apt install chromium-headless-shell"
    if shutil.which("node") is None:
        return "node is not there: apt install nodejs npm"
    if not (UI / "node_modules/playwright-core").exists():
        return "playwright-core is not there: npm ci --prefix ui"
    if not (BIN.parent / "share/fathom/page/index.html").exists():
        return "the page is not built: ninja -C build/release page"
    return None


def yesterday_at(hour, minute=0):
    """Nanoseconds; in UTC, as the checks read it."""
    day = datetime.datetime.now(datetime.timezone.utc).date() - datetime.timedelta(days=1)
    at = datetime.datetime.combine(day, datetime.time(hour, minute), datetime.timezone.utc)
    return int(at.timestamp()) * 1000 * MS


class Yesterday:
    """An hour and a half of a shop, seeded: requests of customers to a gateway, which asks checkout, which asks payments."""

    def __init__(self):
        self.random = random.Random(6)
        self.spans = {}
        self.since = yesterday_at(*SINCE)

    def milliseconds(self, usual):
        return int(usual * self.random.lognormvariate(0, 0.5) * MS)

    def add(self, resource, span):
        self.spans.setdefault(resource, []).append(span)

    def request(self, at):
        trace, root, call = otlp.trace_id(), otlp.span_id(), otlp.span_id()
        customer = self.random.choice(CUSTOMERS)
        host = self.random.randrange(4)
        version = NEW if at >= self.since and host >= 2 else OLD
        pay = self.milliseconds(25)
        own = self.milliseconds(30 if (customer, version) != (CUSTOMER, NEW) else 900)
        failed = self.random.random() < 0.01
        said = {"tenant": customer, "http.request.method": "POST", "cart.items": self.random.randrange(1, 9)}
        self.add(("gateway", "5.0.2", "gateway-1"),
                 otlp.span(trace, "POST /checkout", pay + own + 6 * MS, start_nano=at, span=root, **said))
        self.add(("checkout", version, f"checkout-{host + 1}"),
                 otlp.span(trace, "Place", pay + own + 2 * MS, start_nano=at + 2 * MS, span=call, parent=root, **said))
        self.add(("payments", "1.9.0", "payments-1"),
                 otlp.span(trace, "Charge", pay, start_nano=at + 2 * MS + own, parent=call, error=failed, tenant=customer))

    def fill(self, begin, end, every):
        at = begin
        while at < end:
            self.request(at + self.random.randrange(every))
            at += every

    def send(self, address):
        for (service, version, host), spans in self.spans.items():
            for first in range(0, len(spans), SPANS_PER_REQUEST):
                otlp.send(address, otlp.request(service, spans[first:first + SPANS_PER_REQUEST],
                                                **{"service.version": version, "host.name": host}))


def node(script, *words, check=True):
    return subprocess.run(["node", str(UI / "e2e" / script), *words], capture_output=True, text=True, timeout=SECONDS,
                          check=check, env={**os.environ, "CHROMIUM": CHROMIUM})


@unittest.skipIf(missing(), missing())
class PageInABrowser(unittest.TestCase):
    """One server for all that is looked at."""

    @classmethod
    def setUpClass(cls):
        # Wherever it was compiled: with ccache, that may be another clone.
        cls.server = Server(arguments=["--capture-threshold", "40ms", f"--source-dir=*/examples/shop={ROOT}/examples/shop"])
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.__exit__, None, None, None)
        cls.place = tempfile.TemporaryDirectory(prefix="fathom-test-")
        cls.addClassCleanup(cls.place.cleanup)
        yesterday = Yesterday()
        yesterday.fill(yesterday_at(13, 45), yesterday_at(15, 15), 800 * MS)
        yesterday.send(cls.server.otlp_http)
        cls.facts = {"range": "since=1h", "incident": cls.incident(), **cls.traces(), **cls.shop()}
        cls.facts_path = pathlib.Path(cls.place.name, "facts.json")
        cls.facts_path.write_text(json.dumps(cls.facts), encoding="utf-8")
        browsers = concurrent.futures.ThreadPoolExecutor(MAX_BROWSERS)
        cls.addClassCleanup(browsers.shutdown, cancel_futures=True)
        cls.outcomes = {parts: browsers.submit(cls.run_checks, *parts) for parts in PARTS}

    @staticmethod
    def incident():
        day = datetime.datetime.fromtimestamp(yesterday_at(14) / 1e9, datetime.timezone.utc)
        return {"service": "checkout", "customer": CUSTOMER, "version": NEW, "since": f"{SINCE[0]}:{SINCE[1]:02}",
                "from": day.strftime("%Y-%m-%dT14:00:00Z"), "to": day.strftime("%Y-%m-%dT15:00:00Z")}

    @classmethod
    def traces(cls):
        collector = f"http://{cls.server.otlp_http}"
        return {"trace": node("make_trace.mjs", collector, "300").stdout.strip(),
                "other": node("make_trace.mjs", collector, "300", "slow").stdout.strip()}

    @classmethod
    def record(cls):
        """What the recorder says of a request that waited for the lock. The shop's own status counts a request that a busy
        machine was too slow for, so what was recorded is what counts; a load in which no request was slow enough, or one
        was slow for want of a processor, is played again."""
        place = cls.place.name
        outcome = pathlib.Path(place, "recorded.json")
        words = [BIN / "fathom-recorder", "--span=shelves.*", "--min-duration=10ms", "--threads=all", "--steps=40000",
                 f"--directory={place}/snapshots", f"--json={outcome}", "--", BIN / "shop", "run", "--seconds", "8",
                 "--rate", "25", "--directory", place]
        for _ in range(5):
            ran = subprocess.run(words, check=False, capture_output=True, text=True, timeout=SECONDS,
                                 env={**os.environ, "FATHOM_AGENT_SOCKET": cls.server.agent_socket})
            recorded = json.loads(outcome.read_text(encoding="utf-8")) if outcome.exists() else {}
            if recorded.get("snapshot_id") and recorded.get("trace_id") and recorded.get("lock_holder"):
                return recorded
        raise AssertionError(f"no request that waited for the lock was recorded: {ran.stdout}{ran.stderr}")

    @classmethod
    def shop(cls):
        """The shop under fathom's own client: captures of its slow requests, and the instructions of one."""
        recorded = cls.record()
        cli("snapshot", "push", recorded["snapshot_id"], "--url", cls.server.url, check=0,
            env={"FATHOM_SNAPSHOTS": f"{cls.place.name}/snapshots"})
        captures = until(lambda: [row for row in cls.server.ask("/api/v1/captures")["captures"] if row["trace_id"]],
                         "a slow request of the shop was captured")
        until(lambda: cls.server.trace(captures[0]["trace_id"]), "its spans are stored")
        until(lambda: cls.server.trace(recorded["trace_id"]), "so are the recorded one's")
        return {"captured": captures[0]["trace_id"], "capture": captures[0]["id"], "snapshot": recorded["snapshot_id"],
                "recorded": {"trace": recorded["trace_id"], "snapshot": recorded["snapshot_id"], "service": "load"}}

    @classmethod
    def run_checks(cls, *parts):
        return node("check.mjs", cls.server.url, str(cls.facts_path), *parts, check=False)

    def look(self, *parts):
        outcome = self.outcomes[parts].result()
        print(outcome.stdout)
        self.assertEqual(outcome.returncode, 0, outcome.stdout[-6000:] + outcome.stderr)
        self.assertIn(" 0 skipped", outcome.stdout, "all of the data is there")

    def test_explorer(self):
        self.look("explore")

    def test_services_and_nodes(self):
        self.look("services")

    def test_traces(self):
        self.look("trace")

    def test_timelines(self):
        self.look("timeline", "lists")

    def test_snapshots(self):
        self.look("snapshot")

    def test_strangers(self):
        self.look("walks")

    def test_every_view_light_and_dark(self):
        self.look("views")


if __name__ == "__main__":
    main()
