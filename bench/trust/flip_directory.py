"""A data directory with all kinds of files that a server makes, and every answer about them. For flips.py.

It begins as a directory of format 6, so that it has a backup of an upgrade. It gets sealed and unsealed spans, an oversized trace, a
capture, a rule of tracepoints, a snapshot with its image and kept answers, and a loss by a damaged log, which is in `damaged/`.
"""

import hashlib
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
from harness import otlp, pt  # noqa: E402: it is in tests/
from harness.server import until  # noqa: E402

BIN = pathlib.Path(os.environ.get("FATHOM_BIN", ROOT / "build/release/bin")).resolve()
OLDER = ROOT / "store/testdata/data-v6"
OLDER_SCOPE = "from=1795220000000000000&to=1795222000000000000"  # of all that OLDER holds
PATIENCE_S = 60
REQUESTS, SPANS_PER_REQUEST = 60, 300
UNSEALED_REQUESTS = 20
LOST = "d" * 32
OVERSIZED = "e" * 32
OVERSIZED_SPANS, OVERSIZED_SPANS_PER_REQUEST = 132_000, 4_000  # the limit is 131,072
OVERSIZED_SPANS_PER_PAGE = 10_000
CALLS = 6_000
# A small limit of size makes small segments, so that a small directory has all kinds of files. OLDER is older than the default age.
SETTINGS = ["--retention-size", "16MiB", "--retention-age", "3650d"]
DIED = 0  # instead of the status of an answer
LOSS = "fathom_store_lost_batches_total"


def free_ports(*names):
    return [word for name in names for word in (f"--{name}", "127.0.0.1:0")]


class Program:
    """A program that reports its addresses when it is ready; `ready` is false if it ended before."""

    def __init__(self, *words):
        self.directory = tempfile.TemporaryDirectory(prefix="fathom-flips-")
        self.log = open(pathlib.Path(self.directory.name, "log"), "w+", encoding="utf-8", errors="replace")
        reading, writing = os.pipe()
        self.process = subprocess.Popen([*words, "--ready-fd", str(writing)], stdout=self.log, stderr=self.log, pass_fds=[writing])
        os.close(writing)
        with open(reading, encoding="utf-8") as ready:
            line = ready.readline()
        self.ready = bool(line)
        self.addresses = json.loads(line) if line else {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(PATIENCE_S)
        self.log.close()
        self.directory.cleanup()


class Server(Program):
    """fathom-server on a directory."""

    def __init__(self, data):
        super().__init__(BIN / "fathom-server", "--data", data, *free_ports("http", "otlp-grpc", "otlp-http", "ingest"), *SETTINGS)

    def ask(self, request):
        """(status, body)"""
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError as error:
            return DIED, str(error).encode()

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

    def send_spans(self, service, spans):
        status, _, answer = otlp.post(self.addresses["otlp_http"], json.dumps(otlp.request(service, spans)).encode())
        assert status == 200, answer

    def metric(self, name):
        _, text = self.get("/metrics")
        return sum(float(line.split()[-1]) for line in text.decode().splitlines() if line.split(" ")[0].split("{")[0] == name)

    def lost_batches(self):
        return self.metric(LOSS)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)


def flip(path, bit):
    """Flips a bit without another time of modification, as a disk does."""
    times = path.stat()
    with open(path, "r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


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
    """The directory and the questions about it."""

    def __init__(self, data, seed):
        self.data = data
        self.random = random.Random(seed)
        # Whole minutes long ago, so that answers do not depend on the clock.
        self.start_nano = (time.time_ns() // 3_600_000_000_000 - 3) * 3_600_000_000_000
        self.traces = [f"{self.random.getrandbits(128):032x}" for _ in range(400)]
        self.snapshot = Snapshot(self.random.randbytes(64 * 1024))
        self.captures, self.captured, self.pages, self.filled_nano = [], "", [], 0

    def span(self, number):
        duration = int(self.random.paretovariate(1.2) * 1_000_000)
        start = self.start_nano + self.random.randrange(3_600_000_000_000)
        return otlp.span(self.random.choice(self.traces), f"operation {number % 9}", duration, start_nano=start,
                         error=number % 17 == 0, region=self.random.choice(["eu", "us"]), number=number,
                         noise=self.random.randbytes(40).hex())

    def fill(self):
        shutil.copytree(OLDER, self.data)
        (self.data / "accept-clock").touch()  # the wall clock is days ahead of that of OLDER
        with Server(self.data) as server:
            assert server.ready
            self.send_oversized(server)
            self.send_ordinary(server, 0, REQUESTS)
            self.add_capture_and_rule(server)
            server.upload(self.snapshot.image_path, self.snapshot.image)
            server.upload(self.snapshot.path, self.snapshot.content)
            until(lambda: server.metric("fathom_store_segments") >= 5, "sealed segments")
            server.send_spans("service 0", [otlp.span(LOST, "lost", 1_000_000, start_nano=self.start_nano)])
            server.kill()
        self.damage_log()
        with Server(self.data) as server:
            assert server.ready and server.lost_batches() == 1, server.lost_batches()
            self.send_ordinary(server, REQUESTS, UNSEALED_REQUESTS)
            for question in self.snapshot.kept_questions():
                assert server.get(question)[0] == 200, question
        self.filled_nano = time.time_ns()
        self.check_kinds()

    def send_ordinary(self, server, first, requests):
        for number in range(first, first + requests):
            spans = [self.span(number * SPANS_PER_REQUEST + i) for i in range(SPANS_PER_REQUEST)]
            server.send_spans(f"service {number % 3}", spans)

    def send_oversized(self, server):
        for first in range(0, OVERSIZED_SPANS, OVERSIZED_SPANS_PER_REQUEST):
            server.send_spans("poller", [
                otlp.span(OVERSIZED, "poll", 500, start_nano=self.start_nano + 1000 * number, span=f"{number + 1:016x}",
                          parent="" if number == 0 else f"{1:016x}")
                for number in range(first, first + OVERSIZED_SPANS_PER_REQUEST)])

    def add_capture_and_rule(self, server):
        with tempfile.TemporaryDirectory(prefix="fathom-flips-") as directory:
            socket = f"{directory}/agent.sock"
            with Program(BIN / "fathom-agent", "--collector", server.addresses["ingest"], "--agent-socket", socket,
                         "--state", f"{directory}/state", "--kernel-events", "off") as agent:
                assert agent.ready
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

    def damage_log(self):
        """A bit of the batch with the lost trace. The next start records the loss and keeps the damaged log."""
        for log in (self.data / "store").glob("*.log"):
            if (byte := log.read_bytes().find(bytes.fromhex(LOST))) >= 0:
                return flip(log, 8 * byte)
        raise AssertionError("the lost trace is in no log")

    def check_kinds(self):
        """The directory has what flips.py should flip."""
        for pattern in ("before-upgrade/upgrade", "before-upgrade/store/*.sst", "captures/?/*", "clock", "damaged/*",
                        "server-snapshots/images/*", "server-snapshots/results/*", "server-snapshots/snapshots/*",
                        "store/*.log", "store/*.sst", "tracepoint-rules"):
            assert any(self.data.glob(pattern)), f"no {pattern}"

    def questions(self):
        scope = f"from={self.start_nano}&to={self.start_nano + 2 * 3_600_000_000_000}"
        yield from (f"/api/v1/slowest?{scope}&limit=200{more}" for more in
                    ("", "&by=span", "&service=service%201", "&operation=operation%203", "&errors=true", "&where=region%3Deu"))
        # Spans with a loss, which marks the answer.
        yield f"/api/v1/slowest?from={self.start_nano}&to={self.filled_nano + 60_000_000_000}&limit=20"
        yield f"/api/v1/services?{scope}"
        yield f"/api/v1/latency?{scope}"
        yield f"/api/v1/attributes?{scope}"
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
    yield from (f"/api/v1/traces/{number:032x}" for number in range(1, 5))
    yield from (f"/api/v1/captures/{0xca << 64 | number:032x}/content" for number in range(2, 5))
