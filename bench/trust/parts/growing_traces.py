"""20,000 traces that all receive spans again and again: how fast the server takes them, and the slowest 20 traces meanwhile.

Starts a fathom-server with default limits in a directory of its own. Two processes send spans in turn to each of their 10,000
traces over OTLP/HTTP, each request as soon as the last one is acknowledged; another process asks for the slowest 20 traces of
the last hour at a steady rate. At the end, the first of these must be the trace that is known to be the slowest, with as
many spans as were sent or more. A wrong answer is a failure.
"""

import json
import multiprocessing
import os
import pathlib
import shutil
import struct
import tempfile
import time

from bench_trust import PartFailed
from server_load import BATCH, Request, Sender, Server, ask, ask_slowest, percentile

FIGURES = ["trust.growing_traces_spans_per_second", "trust.growing_traces_last_over_first",
           "trust.growing_traces_rejected_requests", "trust.slowest_beside_growing_ms_p99", "trust.growing_traces_rss_mib"]
TARGETS = ["fathom-server"]
TRACES = 20_000
SENDERS = 2
ROUNDS = 200  # spans of each trace
QUICK_ROUNDS = 20
QUERIES_PER_SECOND = 20
SECOND = 1_000_000_000


def trace_of(number):
    return b"grow" + struct.pack(">QI", number, 1)


def send_growing(address, traces, rounds, out):
    """One span for each of `traces` per round; puts (seconds of each request's end, how often a request was sent again)."""
    sender, request = Sender(address), Request("poller", "poll")
    root = struct.pack(">Q", 1)
    ends, index, base = [], 0, time.time_ns() - 60 * SECOND
    for number in range(rounds * len(traces)):
        sent, trace = divmod(number, len(traces))
        # The trace with the lowest number begins first and ends last.
        start = base + traces[trace] * 1000 if sent == 0 else base + sent * SECOND // 10 - traces[trace] * 1000
        span = root if sent == 0 else struct.pack(">Q", sent + 1)
        request.set(index, trace_of(traces[trace]), span, b"\0" * 8 if sent == 0 else root, start, start + 500)
        index += 1
        if index == BATCH:
            sender.send(request.bytes)
            ends.append(time.monotonic())
            index = 0
    out.put((ends, sender.again))


def check_first(server, rounds):
    row = json.loads(ask(server.http, "/api/v1/slowest?since=1h&limit=1"))["rows"][0]
    expected = (rounds - 1) * SECOND // 10 + 500
    if row["trace_id"] != trace_of(0).hex() or int(row["duration_nano"]) != expected or row["spans"] < rounds:
        raise PartFailed(f"a wrong row: {row}; expected {expected} ns and {rounds} spans")


def spans_per_second(ends):
    return len(ends) * BATCH / (ends[-1] - ends[0])


class GrowingTraces:
    def __init__(self, programs, data, rounds):
        self.server, self.rounds = Server(programs, data), rounds
        self.sent, self.asked, self.stopped = multiprocessing.Queue(), multiprocessing.Queue(), multiprocessing.Event()

    def start_workers(self):
        shares = [range(TRACES)[i::SENDERS] for i in range(SENDERS)]
        workers = [multiprocessing.Process(target=send_growing, args=(self.server.otlp, share, self.rounds, self.sent))
                   for share in shares]
        workers.append(multiprocessing.Process(target=ask_slowest,
                                               args=(self.server.http, QUERIES_PER_SECOND, self.stopped, self.asked)))
        for worker in workers:
            worker.start()
        return workers

    def join(self, workers):
        """What the senders put, and the latencies."""
        sent = [self.sent.get(timeout=1800) for _ in range(SENDERS)]
        self.stopped.set()
        latencies = self.asked.get(timeout=120)
        for worker in workers:
            worker.join(timeout=120)
            if worker.exitcode != 0:
                raise PartFailed("a process of the load failed")
        return sent, latencies

    def run(self):
        sent, latencies = self.join(self.start_workers())
        self.server.wait_sealed()
        check_first(self.server, self.rounds)
        ends = sorted(end for sender, _ in sent for end in sender)
        quarter = len(ends) // 4
        figures = {
            "trust.growing_traces_spans_per_second": spans_per_second(ends),
            "trust.growing_traces_last_over_first": spans_per_second(ends[-quarter:]) / spans_per_second(ends[:quarter]),
            "trust.growing_traces_rejected_requests": sum(again for _, again in sent),
            "trust.slowest_beside_growing_ms_p50": percentile(latencies, 0.5),
            "trust.slowest_beside_growing_ms_p99": percentile(latencies, 0.99),
            "trust.growing_traces_rss_mib": self.server.peak_mib(),
            "trust.growing_traces_load_average": os.getloadavg()[1],
        }
        self.server.stop()
        return figures

    def close(self):
        for worker in multiprocessing.active_children():
            worker.terminate()
        self.server.kill()


def run(context):
    directory = tempfile.mkdtemp(prefix="fathom-growing-", dir=context.work_directory)
    load = GrowingTraces(context.programs, pathlib.Path(directory, "data"), QUICK_ROUNDS if context.is_quick else ROUNDS)
    try:
        return load.run()
    finally:
        load.close()
        shutil.rmtree(directory, ignore_errors=True)
