"""Flips single bits anywhere in a data directory and checks that each is handled.

A flip is handled if it changes no answer, or if it is detected: the server rejects the directory or reports a loss, each answer that
changed is an error, or `fathom store verify` finds it. Everything else is a silent loss, the end of the server included. Half of the
flips choose a byte of the directory, the others choose a file first. Prints one line of JSON. Takes about five minutes for 1,000 flips
on two processors if the temporary directory is in memory (TMPDIR=/dev/shm).
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests"))
from harness import otlp  # noqa: E402: it is in tests/

BIN = pathlib.Path(os.environ.get("FATHOM_BIN", ROOT / "build/release/bin")).resolve()
PATIENCE_S = 60
REQUESTS, SPANS_PER_REQUEST = 60, 300
# A small limit of size makes small segments, so that a small directory has all kinds of files.
SETTINGS = ["--retention-size", "16MiB"]
DIED = 0  # instead of the status of an answer
REJECTED = 7  # the exit status for a damaged directory
LOSS = "fathom_store_lost_batches_total"


class Server:
    """fathom-server on a directory; `ready` is false if it ended before it was ready."""

    def __init__(self, data):
        self.directory = tempfile.TemporaryDirectory(prefix="fathom-flips-")
        addresses = [word for name in ("http", "otlp-grpc", "otlp-http", "ingest") for word in (f"--{name}", "127.0.0.1:0")]
        self.log = open(pathlib.Path(self.directory.name, "log"), "w+", encoding="utf-8", errors="replace")
        reading, writing = os.pipe()
        command = [BIN / "fathom-server", "--data", data, *addresses, *SETTINGS, "--ready-fd", str(writing)]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, pass_fds=[writing])
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

    def get(self, path):
        """(status, body)"""
        try:
            with urllib.request.urlopen(f"http://{self.addresses['http']}{path}", timeout=PATIENCE_S) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError as error:
            return DIED, str(error).encode()

    def put(self, path, body):
        request = urllib.request.Request(f"http://{self.addresses['http']}{path}", data=body, method="PUT")
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            assert response.status == 200, response.status

    def lost_batches(self):
        _, text = self.get("/metrics")
        return sum(float(line.split()[-1]) for line in text.decode().splitlines() if line.startswith(LOSS))


class Store:
    """A directory with sealed spans, spans in the log and an image; and every answer about them."""

    def __init__(self, data, seed):
        self.data = data
        self.random = random.Random(seed)
        # Whole minutes long ago, so that answers do not depend on the clock.
        self.start_nano = (time.time_ns() // 3_600_000_000_000 - 3) * 3_600_000_000_000
        self.traces = [f"{self.random.getrandbits(128):032x}" for _ in range(400)]
        self.image = self.random.randbytes(64 * 1024)
        self.image_name = hashlib.sha256(self.image).hexdigest()

    def span(self, number):
        duration = int(self.random.paretovariate(1.2) * 1_000_000)
        start = self.start_nano + self.random.randrange(3_600_000_000_000)
        return otlp.span(self.random.choice(self.traces), f"operation {number % 9}", duration, start_nano=start,
                         error=number % 17 == 0, region=self.random.choice(["eu", "us"]), number=number,
                         noise=self.random.randbytes(40).hex())

    def fill(self):
        with Server(self.data) as server:
            assert server.ready
            for number in range(REQUESTS):
                spans = [self.span(number * SPANS_PER_REQUEST + i) for i in range(SPANS_PER_REQUEST)]
                body = json.dumps(otlp.request(f"service {number % 3}", spans)).encode()
                status, _, answer = otlp.post(server.addresses["otlp_http"], body)
                assert status == 200, answer
            size = len(self.image)
            server.put(f"/api/v1/images/{self.image_name}/bytes?offset=0&total={size}", self.image)
            self.wait_until_sealed(server)

    @staticmethod
    def wait_until_sealed(server):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            _, text = server.get("/metrics")
            if any(line.startswith("fathom_store_segments ") and float(line.split()[1]) >= 2
                   for line in text.decode().splitlines()):
                return
            time.sleep(0.2)
        print("flips.py: few spans were sealed", file=sys.stderr)

    def questions(self):
        scope = f"from={self.start_nano}&to={self.start_nano + 2 * 3_600_000_000_000}"
        yield from (f"/api/v1/slowest?{scope}&limit=200{more}" for more in
                    ("", "&by=span", "&service=service%201", "&operation=operation%203", "&errors=true", "&where=region%3Deu"))
        yield f"/api/v1/services?{scope}"
        yield f"/api/v1/latency?{scope}"
        yield f"/api/v1/attributes?{scope}"
        yield from (f"/api/v1/traces/{trace}" for trace in self.traces[::40])
        yield f"/api/v1/images/{self.image_name}/bytes?offset=0&bytes={len(self.image)}"

    def answers(self, server):
        return [server.get(question) for question in self.questions()]


def files_of(data):
    """All files but the ballast, which nothing reads and which would take a quarter of the flips."""
    return [(path, size) for path in sorted(data.rglob("*"))
            if path.is_file() and path.name != "ballast" and (size := path.stat().st_size) > 0]


def pick(files, chance):
    """(path, bit): each byte of the directory is as likely as every other, or each file, so that small files have their share."""
    if chance.random() < 0.5:
        files = [chance.choice(files)]
    byte = chance.randrange(sum(size for _, size in files))
    for path, size in files:
        if byte < size:
            return path, 8 * byte + chance.randrange(8)
        byte -= size
    raise AssertionError


def flip(path, bit):
    with open(path, "r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))


def is_error(status):
    return status not in (DIED, 200, 404)


def outcome_of_server(data, store, expected):
    """How the server alone handled it; empty: an answer is wrong, and nothing says so."""
    with Server(data) as server:
        if not server.ready:
            return "start" if server.process.wait(PATIENCE_S) == REJECTED else ""
        if server.lost_batches() > 0:
            return "start"
        answers = store.answers(server)
    if any(status == DIED for status, _ in answers):
        return ""
    changed = [answer for answer, before in zip(answers, expected) if answer != before]
    if not changed:
        return "no change"
    return "read" if all(is_error(status) for status, _ in changed) else ""


def is_found_by_verify(data):
    command = [BIN / "fathom-store", "verify", data, "--json"]
    return subprocess.run(command, capture_output=True, check=False, timeout=600).returncode == REJECTED


def run(flips, seed):
    outcomes, silent = collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="fathom-flips-") as directory:
        original, copy = pathlib.Path(directory, "original"), pathlib.Path(directory, "copy")
        store = Store(original, seed)
        store.fill()
        assert not is_found_by_verify(original), "the directory is damaged before any flip"
        shutil.copytree(original, copy)
        with Server(copy) as server:
            expected = store.answers(server)
        assert all(status == 200 for status, _ in expected), [status for status, _ in expected]
        files, chance = files_of(original), random.Random(seed)
        for number in range(flips):
            path, bit = pick(files, chance)
            how = handle(original, copy, path, bit, store, expected)
            outcomes[how or "silent"] += 1
            if how == "verify":
                print(f"flips.py: only verification found: {path.relative_to(original)}, bit {bit}", file=sys.stderr)
            if not how:
                silent.append(f"{path.relative_to(original)}, bit {bit}")
            if number % 100 == 99:
                print(f"flips.py: {number + 1} of {flips}: {dict(outcomes)}", file=sys.stderr)
    for one in silent:
        print(f"flips.py: not handled: {one}", file=sys.stderr)
    return outcomes


def handle(original, copy, path, bit, store, expected):
    def damaged_copy():
        shutil.rmtree(copy)
        shutil.copytree(original, copy)
        flip(copy / path.relative_to(original), bit)
        return copy

    how = outcome_of_server(damaged_copy(), store, expected)
    return how or ("verify" if is_found_by_verify(damaged_copy()) else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20261127)
    given = parser.parse_args()
    outcomes = run(given.flips, given.seed)
    silent = outcomes.pop("silent", 0)
    handled = 100 * (given.flips - silent) / given.flips
    print(json.dumps({"trust.flips_handled_pct": round(handled, 2), "trust.silent_losses": silent, "flips": given.flips,
                      "seed": given.seed, "handled_by": dict(outcomes)}))


if __name__ == "__main__":
    main()
