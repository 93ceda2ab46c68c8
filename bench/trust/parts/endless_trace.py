"""One trace of 10 million spans: the server's peak memory, and the slowest 20 traces beside it.

Starts a fathom-server with default limits in a directory of its own. Two processes send the spans of one trace over
OTLP/HTTP, another one sends ordinary traces, and a fourth one queries the slowest 20 traces of the last hour at a steady
rate. When everything is sealed, the server is restarted, and the trace is read page by page. Then the directory is verified and
repaired. A wrong answer is a failure.
"""

import json
import multiprocessing
import os
import pathlib
import random
import shutil
import struct
import subprocess
import tempfile
import time

from bench_trust import PartFailed
from server_load import BATCH, Request, Sender, Server, ask, ask_slowest, percentile

FIGURES = ["trust.endless_trace_rss_mib", "trust.slowest_beside_endless_ms_p99", "trust.verify_rss_mib", "trust.repair_rss_mib"]
TARGETS = ["fathom-server", "fathom-store"]
SPANS = 10_000_000
QUICK_SPANS = 1_000_000
SPANS_PER_SECOND = 60_000
SENDERS = 2
ORDINARY_SPANS_PER_SECOND = 2000
QUERIES_PER_SECOND = 20
ENDLESS = bytes.fromhex("e" * 32)


def send_endless(address, first, count, per_second):
    """Spans first, first + 1, ... of the one trace, each a child of the first one."""
    os.nice(5)
    sender, request = Sender(address), Request("poller", "poll")
    root = struct.pack(">Q", 1)
    due = time.monotonic()
    for batch in range(first, first + count, BATCH):
        start = time.time_ns()
        for i in range(BATCH):
            request.set(i, ENDLESS, struct.pack(">Q", batch + i), root, start + i * 1000, start + i * 1000 + 500)
        sender.send(request.bytes)
        due = max(due + BATCH / per_second, time.monotonic() - 1)
        time.sleep(max(0.0, due - time.monotonic()))


def send_ordinary(address, per_second, seed, stop):
    """Traces of ten spans that take one to a thousand milliseconds. Each seed makes traces of its own."""
    sender, request = Sender(address), Request("shop", "GET /cart")
    rng = random.Random(seed)
    while not stop.is_set():
        began = time.monotonic()
        now = time.time_ns()
        for i in range(BATCH):
            if i % 10 == 0:
                trace, root = rng.randbytes(16), rng.randbytes(8)
                length = rng.randrange(1, 1000) * 1_000_000
                request.set(i, trace, root, b"\0" * 8, now, now + length)
            else:
                request.set(i, trace, rng.randbytes(8), root, now + length // 20 * (i % 10), now + length // 2)
        sender.send(request.bytes)
        stop.wait(max(0.0, BATCH / per_second - (time.monotonic() - began)))


class Load:
    """Ordinary traces and queries of the slowest, from processes of their own."""

    def __init__(self, server, seed):
        self.stopped, self.out = multiprocessing.Event(), multiprocessing.Queue()
        self.workers = [multiprocessing.Process(target=send_ordinary, args=(server.otlp, ORDINARY_SPANS_PER_SECOND, seed, self.stopped)),
                        multiprocessing.Process(target=ask_slowest,
                                                args=(server.http, QUERIES_PER_SECOND, self.stopped, self.out))]
        for worker in self.workers:
            worker.start()

    def stop(self):
        """What ask_slowest() measured."""
        self.stopped.set()
        measured = self.out.get(timeout=120)
        for worker in self.workers:
            worker.join(timeout=120)
            if worker.exitcode != 0:
                raise PartFailed("a process of the load failed")
        return measured


def check_row(server, spans):
    """The endless trace leads the list, marked, with a bound that covers its spans."""
    row = json.loads(ask(server.http, "/api/v1/slowest?since=1h&limit=1"))["rows"][0]
    if row["trace_id"] != ENDLESS.hex() or not row.get("oversized") or row["complete"] or row["spans"] < spans:
        raise PartFailed(f"a wrong row: {row}")


def read_pages(server):
    """(spans of all pages, milliseconds of each page)."""
    cursor, spans, latencies = "", 0, []
    while True:
        began = time.monotonic()
        body = ask(server.http, f"/api/v1/traces/{ENDLESS.hex()}?limit=1000" + (f"&cursor={cursor}" if cursor else ""))
        latencies.append(1000 * (time.monotonic() - began))
        spans += body.count(b'"span_id":')
        at = body.index(b'"next_cursor":"') + len(b'"next_cursor":"')
        cursor = body[at:body.index(b'"', at)].decode()
        if not cursor:
            return spans, latencies


def run_store(programs, verb, *directories):
    """(seconds, peak memory in MiB) of a check or repair that finds nothing damaged."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([programs / "fathom-store", verb, *directories], stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        said.seek(0)
        text = said.read().decode()
    if process.returncode != 0:
        raise PartFailed(f"fathom-store {verb} ended with {process.returncode}: {text[-300:]}")
    if seconds > 10 and " % of " not in text:
        raise PartFailed(f"fathom-store {verb} showed no progress in {seconds:.0f} s")
    return seconds, used.ru_maxrss / 1024


class EndlessTrace:
    """Two runs of a server: one that takes the trace, and one that answers it."""

    def __init__(self, programs, data, spans):
        self.programs, self.data, self.spans = programs, data, spans
        self.server, self.figures, self.peaks, self.latencies = None, {}, [], []

    def start_server(self):
        began = time.monotonic()
        self.server = Server(self.programs, self.data)
        return time.monotonic() - began

    def stop_server(self):
        self.peaks.append(self.server.peak_mib())
        self.server.stop()

    def send(self):
        share = self.spans // BATCH // SENDERS * BATCH
        counts = [share] * (SENDERS - 1) + [self.spans - share * (SENDERS - 1)]
        senders = [multiprocessing.Process(target=send_endless,
                                           args=(self.server.otlp, 1 + i * share, count, SPANS_PER_SECOND / SENDERS))
                   for i, count in enumerate(counts)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
            if sender.exitcode != 0:
                raise PartFailed("a sender of the endless trace failed")

    def store(self):
        self.start_server()
        load = Load(self.server, seed=24)
        began = time.monotonic()
        self.send()
        self.figures["trust.endless_trace_spans_per_second"] = self.spans / (time.monotonic() - began)
        store = self.server.wait_sealed()
        self.figures["trust.endless_trace_segments"] = store["segments"]
        check_row(self.server, self.spans)
        self.latencies += load.stop()
        self.stop_server()

    def read(self):
        self.figures["trust.endless_trace_restart_s"] = self.start_server()
        check_row(self.server, self.spans)
        load = Load(self.server, seed=25)
        seen, latencies = read_pages(self.server)
        if seen != self.spans:
            raise PartFailed(f"the pages of the endless trace have {seen} spans of {self.spans}")
        self.figures["trust.endless_trace_page_ms_p50"] = percentile(latencies, 0.5)
        self.figures["trust.endless_trace_page_ms_max"] = max(latencies)
        self.latencies += load.stop()
        self.stop_server()

    def check(self):
        repaired = self.data.with_name("repaired")
        for verb, directories in (("verify", [self.data]), ("repair", [self.data, repaired])):
            seconds, mib = run_store(self.programs, verb, *directories)
            self.figures[f"trust.{verb}_s"], self.figures[f"trust.{verb}_rss_mib"] = seconds, mib
        run_store(self.programs, "verify", repaired)

    def close(self):
        for worker in multiprocessing.active_children():
            worker.terminate()
        if self.server:
            self.server.kill()

    def run(self):
        try:
            self.store()
            self.read()
            self.check()
        finally:
            self.close()
        return {"trust.endless_trace_rss_mib": max(self.peaks),
                "trust.slowest_beside_endless_ms_p99": percentile(self.latencies, 0.99),
                "trust.endless_trace_load_average": os.getloadavg()[1], **self.figures}


def run(context):
    directory = tempfile.mkdtemp(prefix="fathom-endless-", dir=context.work_directory)
    try:
        return EndlessTrace(context.programs, pathlib.Path(directory, "data"),
                            QUICK_SPANS if context.is_quick else SPANS).run()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
