"""Data directories with all kinds of files that a server makes, and every answer about them. For flips.py.

A directory begins as one of format 6, so that it has a backup of an upgrade. It gets sealed and unsealed spans, an oversized trace, a
capture, a rule of tracepoints, a snapshot with its image and kept answers, and a loss by a damaged log, which is in `damaged/`. There are
three variants, which differ in how the last server ended. It was closed; or it was killed while its newest log was filled ahead of the
records; or it was killed after a large batch, which removed the fill.
"""

import collections
import hashlib
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests"))
from harness import logs, otlp, pt  # noqa: E402: it is in tests/
from harness.daemon import Program  # noqa: E402
from harness.server import until  # noqa: E402

BIN = pathlib.Path(os.environ.get("FATHOM_BIN", ROOT / "build/release/bin")).resolve()
OLDER = ROOT / "store/testdata/data-v6"
OLDER_SCOPE = "from=1795220000000000000&to=1795222000000000000"  # of all that OLDER holds
OLDER_NANO = 1795221000000000000
OLDER_TRACES = [f"{number:032x}" for number in range(1, 5)]
PATIENCE_S = 60
REQUESTS, SPANS_PER_REQUEST = 60, 300
UNSEALED_REQUESTS = 20
LOST = "d" * 32
OVERSIZED = "e" * 32
OVERSIZED_SPANS, OVERSIZED_SPANS_PER_REQUEST = 132_000, 4_000  # the limit is 131,072
OVERSIZED_SPANS_PER_PAGE = 10_000
SMALL_REQUESTS, SPANS_PER_SMALL_REQUEST = 24, 20  # each is acknowledged before the next, so the log is filled ahead of them
LARGE_REQUEST_SPANS = 2_000  # more than 64 KiB in the log
CALLS = 6_000
HOUR_NANO = 3_600_000_000_000
# A small limit of size makes small segments, so that a small directory has all kinds of files. OLDER is older than the default age.
SETTINGS = ["--retention-size", "16MiB", "--retention-age", "3650d"]
LOSS = "fathom_store_lost_batches_total"
CLOSED, FILLED, UNFILLED = VARIANTS = ("closed", "killed with a filled log", "killed after a large batch")

Batch = collections.namedtuple("Batch", "service body spans")  # `body`: the request; `spans`: [(trace, span id)]


def batch_of(service, spans):
    return Batch(service, json.dumps(otlp.request(service, spans)).encode(), [(span["traceId"], span["spanId"]) for span in spans])


class Ended(Exception):
    """The server ended, or did not answer in time."""

    def __init__(self, server):
        try:
            self.status = server.process.wait(5)
        except subprocess.TimeoutExpired:
            self.status = None
        super().__init__(f"the server ended with status {self.status}: {server.log_text()[-600:]}" if self.status is not None else
                         f"the server did not answer, or end, within {PATIENCE_S} s")


class Server(Program):
    """fathom-server on a directory."""

    def __init__(self, data):
        ports = [word for name in ("http", "otlp-grpc", "otlp-http", "ingest") for word in (f"--{name}", "127.0.0.1:0")]
        super().__init__(BIN / "fathom-server", "--data", data, *ports, *SETTINGS)

    def __exit__(self, kind, *rest):
        """Raises Ended if a server that was ready neither ended cleanly nor was killed."""
        ended = None
        try:
            if self.end() not in (0, -signal.SIGKILL) and self.addresses:
                ended = Ended(self)
        except subprocess.TimeoutExpired:
            ended = Ended(self)
            self.kill()
        super().__exit__(kind, *rest)
        if kind is None and ended:
            raise ended

    def print_log(self):
        """Prints nothing: many of these servers are expected to fail."""

    def ask(self, request):
        """(status, body)"""
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except (OSError, http.client.HTTPException) as error:
            raise Ended(self) from error

    def url(self, path):
        return f"http://{self.addresses['http']}{path}"

    def get(self, path):
        return self.ask(self.url(path))

    def send(self, method, path, body):
        headers = {"Content-Type": "application/json"}
        status, answer = self.ask(urllib.request.Request(self.url(path), data=body, method=method, headers=headers))
        assert status == 200, (path, status, answer)

    def upload(self, path, content):
        self.send("PUT", f"{path}/bytes?offset=0&total={len(content)}", content)

    def post(self, batch):
        """(status, body)"""
        try:
            status, _, answer = otlp.post(self.addresses["otlp_http"], batch.body, timeout=PATIENCE_S)
        except (OSError, http.client.HTTPException) as error:
            raise Ended(self) from error
        return status, answer

    def metric(self, name):
        _, text = self.get("/metrics")
        return sum(float(line.split()[-1]) for line in text.decode().splitlines() if line.split(" ")[0].split("{")[0] == name)

    def lost_batches(self):
        return self.metric(LOSS)


class Snapshot:
    """A program that calls a function again and again, with its image, imported into a directory of its own."""

    def __init__(self, noise):
        with tempfile.TemporaryDirectory(prefix="fathom-flips-") as name:
            directory = pathlib.Path(name)
            (directory / "stream").write_bytes(pt.stream(CALLS)[0])
            (directory / "code").write_bytes(pt.CODE + noise)
            command = [BIN / "fathom-worker", "--directory", directory / "kept", "import", "--pt", directory / "stream",
                       "--cpu", "6/142/10", "--image", f"{directory}/code@{pt.BASE:x}"]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
            assert done.returncode == 0, done.stderr
            (path,) = (directory / "kept/snapshots").iterdir()
            self.id, self.content = path.stem, path.read_bytes()
        self.image = pt.CODE + noise
        self.image_name = hashlib.sha256(self.image).hexdigest()
        self.path, self.image_path = f"/api/v1/snapshots/{self.id}", f"/api/v1/images/{self.image_name}"

    def questions(self):
        yield "/api/v1/snapshots"
        yield self.path
        yield f"{self.path}/bytes?offset=0&bytes={len(self.content)}"
        yield f"{self.image_path}/bytes?offset=0&bytes={len(self.image)}"
        yield from self.kept_questions()

    def kept_questions(self):
        """The questions whose answers a server keeps."""
        yield from (f"{self.path}/{verb}?limit=50" for verb in ("calls", "functions"))


class Directory:
    """The directory, the questions about it, and the batches that it was made from."""

    def __init__(self, place, seed):
        self.place = place
        self.data = self.path(CLOSED)
        self.random = random.Random(seed)
        # Whole minutes long ago, so that answers do not depend on the clock.
        self.start_nano = (time.time_ns() // HOUR_NANO - 3) * HOUR_NANO
        self.traces = [f"{self.random.getrandbits(128):032x}" for _ in range(400)]
        self.snapshot = Snapshot(self.random.randbytes(64 * 1024))
        self.captures, self.captured, self.pages, self.filled_nano = [], "", [], 0
        self.batches = []  # of the first server, without the lost one
        self.last_batches = {}  # of the last server of each variant, which are in its newest log
        self.lost = None

    def path(self, variant):
        return self.place / variant.replace(" ", "-")

    def span(self, number):
        duration = int(self.random.paretovariate(1.2) * 1_000_000)
        start = self.start_nano + self.random.randrange(HOUR_NANO)
        return otlp.span(self.random.choice(self.traces), f"operation {number % 9}", duration, start_nano=start,
                         error=number % 17 == 0, region=self.random.choice(["eu", "us"]), number=number,
                         noise=self.random.randbytes(40).hex())

    def fill(self):
        shutil.copytree(OLDER, self.data)
        (self.data / "accept-clock").touch()  # the wall clock is days ahead of that of OLDER
        with Server(self.data) as server:
            assert server.addresses, server.log_text()
            self.batches += self.send_oversized(server)
            self.batches += self.send_ordinary(server, 0, REQUESTS)
            self.add_capture_and_rule(server)
            server.upload(self.snapshot.image_path, self.snapshot.image)
            server.upload(self.snapshot.path, self.snapshot.content)
            until(lambda: server.metric("fathom_store_segments") >= 5, "sealed segments")
            self.lost = self.send_spans(server, "service 0", [otlp.span(LOST, "lost", 1_000_000, start_nano=self.start_nano)])
            server.kill()
        logs.flip_batch_of(self.data, LOST)
        with Server(self.data) as server:
            assert server.addresses and server.lost_batches() == 1, server.log_text()
            self.last_batches[CLOSED] = self.send_ordinary(server, REQUESTS, UNSEALED_REQUESTS)
            for question in self.snapshot.kept_questions():
                assert server.get(question)[0] == 200, question
        self.filled_nano = time.time_ns()
        self.check_kinds()
        self.kill_server_of(FILLED, [SPANS_PER_SMALL_REQUEST] * SMALL_REQUESTS)
        self.kill_server_of(UNFILLED, [SPANS_PER_SMALL_REQUEST] * 6 + [LARGE_REQUEST_SPANS, SPANS_PER_SMALL_REQUEST])

    def kill_server_of(self, variant, requests):
        """Makes a variant: `requests` has the numbers of spans."""
        data = shutil.copytree(self.data, self.path(variant))
        with Server(data) as server:
            assert server.addresses, server.log_text()
            self.last_batches[variant] = [
                self.send_spans(server, "service 1", [self.span(i) for i in range(spans)]) for spans in requests]
            server.kill()
        assert (logs.filled(logs.newest_log(data)) is None) == (variant == UNFILLED), "a filled log is missing or unexpected"

    @staticmethod
    def send_spans(server, service, spans):
        batch = batch_of(service, spans)
        status, answer = server.post(batch)
        assert status == 200, answer
        return batch

    def send_ordinary(self, server, first, requests):
        return [self.send_spans(server, f"service {number % 3}",
                                [self.span(number * SPANS_PER_REQUEST + i) for i in range(SPANS_PER_REQUEST)])
                for number in range(first, first + requests)]

    def send_oversized(self, server):
        return [self.send_spans(server, "poller", [
            otlp.span(OVERSIZED, "poll", 500, start_nano=self.start_nano + 1000 * number, span=f"{number + 1:016x}",
                      parent="" if number == 0 else f"{1:016x}")
            for number in range(first, first + OVERSIZED_SPANS_PER_REQUEST)])
                for first in range(0, OVERSIZED_SPANS, OVERSIZED_SPANS_PER_REQUEST)]

    def add_capture_and_rule(self, server):
        with tempfile.TemporaryDirectory(prefix="fathom-flips-") as directory:
            socket = f"{directory}/agent.sock"
            with Program(BIN / "fathom-agent", "--collector", server.addresses["ingest"], "--agent-socket", socket,
                         "--state", f"{directory}/state", "--kernel-events", "off") as agent:
                assert agent.addresses, agent.log_text()
                environment = {**os.environ, "FATHOM_AGENT_SOCKET": socket, "OTEL_SERVICE_NAME": "writer"}
                done = subprocess.run([BIN / "capture_writer"], input="burst 20000\n", capture_output=True, text=True, check=True,
                                      env=environment, timeout=PATIENCE_S)
                self.captured = done.stdout.split()[0]
                until(lambda: self.captures_of(server, self.captured), "a capture")
                until(lambda: server.get(f"/api/v1/traces/{self.captured}")[0] == 200, "its span")
                rule = {"action": "enable", "patterns": ["bench.*"], "service": "writer"}
                server.send("POST", "/api/v1/tracepoints", json.dumps(rule).encode())
        everything = json.loads(server.get("/api/v1/captures?from=0&to=9000000000000000000&limit=100")[1])
        self.captures = [row["id"] for row in everything["captures"]]

    @staticmethod
    def captures_of(server, trace):
        return json.loads(server.get(f"/api/v1/captures?trace_id={trace}")[1])["captures"]

    def check_kinds(self):
        """The directory has what flips.py should flip."""
        for pattern in ("before-upgrade/upgrade", "before-upgrade/store/*.sst", "captures/?/*", "clock", "damaged/*",
                        "server-snapshots/images/*", "server-snapshots/results/*", "server-snapshots/snapshots/*",
                        "store/*.log", "store/*.sst", "tracepoint-rules"):
            assert any(self.data.glob(pattern)), f"no {pattern}"

    def scope(self):
        return f"from={self.start_nano}&to={self.start_nano + 2 * HOUR_NANO}"

    def questions(self):
        scope, everything = self.scope(), f"from={self.start_nano}&to={self.filled_nano + 60_000_000_000}"
        yield from (f"/api/v1/slowest?{scope}&limit=200{more}" for more in
                    ("", "&by=span", "&service=service%201", "&operation=operation%203", "&errors=true", "&where=region%3Deu"))
        # Spans with a loss, which marks the answer.
        yield f"/api/v1/slowest?{everything}&limit=20"
        yield f"/api/v1/services?{scope}"
        yield f"/api/v1/latency?{scope}"
        yield f"/api/v1/attributes?{everything}"  # a sealed segment lists also the keys of its spans beyond the range
        yield from (f"/api/v1/traces/{trace}" for trace in [*self.traces[::40], self.captured])
        yield from self.snapshot.questions()
        yield "/api/v1/captures?from=0&to=9000000000000000000&limit=100"
        for capture in self.captures:
            yield f"/api/v1/captures/{capture}"
            yield f"/api/v1/captures/{capture}/content"
        yield f"/api/v1/traces/{self.captured}/timeline"
        yield "/api/v1/tracepoints/rules"
        yield from self.pages
        yield from older_questions()

    def find_pages(self, server):
        """Chooses the first, the middle and the last page of the oversized trace as questions."""
        pages, cursor = [], ""
        while not pages or cursor:
            pages.append(f"/api/v1/traces/{OVERSIZED}?limit={OVERSIZED_SPANS_PER_PAGE}" + (f"&cursor={cursor}" if cursor else ""))
            status, body = server.get(pages[-1])
            assert status == 200, body
            cursor = json.loads(body)["next_cursor"]
        self.pages = [pages[0], pages[len(pages) // 2], pages[-1]]


def older_questions():
    """About what OLDER holds."""
    yield f"/api/v1/slowest?{OLDER_SCOPE}&limit=200"
    yield f"/api/v1/services?{OLDER_SCOPE}"
    yield f"/api/v1/latency?{OLDER_SCOPE}"
    yield f"/api/v1/captures?{OLDER_SCOPE}"
    yield from (f"/api/v1/traces/{trace}" for trace in OLDER_TRACES)
    yield from (f"/api/v1/captures/{0xca << 64 | number:032x}/content" for number in range(2, 5))
