"""A fathom-server with default limits under load: requests made in place, senders, and queries at a steady rate."""

import http.client
import json
import os
import pathlib
import signal
import struct
import subprocess
import time

from bench_trust import PartFailed

BATCH = 1000


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(key, value):
    return field(1, key.encode()) + field(2, field(1, value.encode()))


class Request:
    """An OTLP request of BATCH spans whose ids and times are replaced in place."""

    def __init__(self, service, name):
        marks = [b"\xf1" * 16, b"\xf2" * 8, b"\xf3" * 8, b"\xf4" * 8, b"\xf5" * 8]
        span = (field(1, marks[0]) + field(2, marks[1]) + field(4, marks[2]) + field(5, name.encode()) + b"\x30\x02"
                + b"\x39" + marks[3] + b"\x41" + marks[4] + field(9, attribute("http.route", "/poll"))
                + field(9, attribute("peer", "db-7")))
        one = field(2, span)
        scope = field(2, field(1, field(1, b"bench")) + one * BATCH)
        self.bytes = bytearray(field(1, field(1, field(1, attribute("service.name", service))) + scope))
        first = self.bytes.index(marks[0])
        self.places = [first + len(one) * i for i in range(BATCH)]
        self.offsets = [one.index(mark) - one.index(marks[0]) for mark in marks]

    def set(self, index, trace, span, parent, start, end):
        at = self.places[index]
        for offset, value in zip(self.offsets, (trace, span, parent, struct.pack("<Q", start), struct.pack("<Q", end))):
            self.bytes[at + offset:at + offset + len(value)] = value


class Sender:
    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=120)
        self.again = 0

    def send(self, body):
        while True:
            self.connection.request("POST", "/v1/traces", bytes(body), {"Content-Type": "application/x-protobuf"})
            answer = self.connection.getresponse()
            answer.read()
            if answer.status == 200:
                return
            if answer.status not in (429, 503):
                raise PartFailed(f"the server answered {answer.status}")
            self.again += 1
            time.sleep(0.2)


def ask(address, target):
    connection = http.client.HTTPConnection(address, timeout=120)
    connection.request("GET", target)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        raise PartFailed(f"{target}: {answer.status} {body[:300]!r}")
    return body


def ask_slowest(address, per_second, stop, out):
    """Puts the latencies in milliseconds into `out`."""
    connection = http.client.HTTPConnection(address, timeout=120)
    due, measured = time.monotonic(), []
    while not stop.is_set():
        began = time.monotonic()
        connection.request("GET", "/api/v1/slowest?since=1h&limit=20")
        answer = connection.getresponse()
        body = answer.read()
        measured.append(1000 * (time.monotonic() - began))
        if answer.status != 200:
            raise PartFailed(f"slowest: {answer.status} {body[:300]!r}")
        due = max(due + 1 / per_second, time.monotonic())
        stop.wait(max(0.0, due - time.monotonic()))
    out.put(measured)


class Server:
    def __init__(self, programs, data):
        reading, writing = os.pipe()
        self.process = subprocess.Popen(
            [programs / "fathom-server", "--data", data, "--http", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0", "--otlp-grpc",
             "127.0.0.1:0", "--ingest", "127.0.0.1:0", "--log-level", "warning", "--ready-fd", str(writing)],
            pass_fds=[writing])
        os.close(writing)
        with os.fdopen(reading) as ready:
            line = ready.readline()
        if not line:
            raise PartFailed("fathom-server did not start")
        addresses = json.loads(line)
        self.http, self.otlp = addresses["http"], addresses["otlp_http"]

    def peak_mib(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        raise PartFailed("no VmHWM")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(timeout=120) != 0:
            raise PartFailed(f"fathom-server ended with {self.process.returncode}")

    def wait_sealed(self, seconds=300):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            store = json.loads(ask(self.http, "/api/v1/status"))["store"]
            if store["spans_unsealed"] <= 131_072:  # of the segment that takes spans
                return store
            time.sleep(0.2)
        raise PartFailed("sealing does not end")


def percentile(numbers, part):
    return sorted(numbers)[min(len(numbers) - 1, int(part * len(numbers)))]
