"""Writes to a server on a damaged directory, and checks what it does with them. For flips.py.

The server gets batches that the directory was made from, spans of new traces, and a span for each trace that the directory has. Then it
gets spans until these are sealed, because sealing reads what the directory has of the same traces. Each batch must be acknowledged, or
rejected with an error that names the fix. A batch that is sent again must be stored once, and each acknowledged span must be found once.
"""

import collections
import itertools
import json
import re
import time

from flip_directory import HOUR_NANO, LOST, OLDER_NANO, OLDER_TRACES, OVERSIZED, Ended, Server, batch_of
from harness import otlp

REJECTED = 7  # the exit status for a damaged directory
NAMES_FIX = re.compile(rb"fathom store (verify|repair)")
RETRY_S = 8  # a server waits for sealing for 5 s before it rejects a batch as retryable
SEALING_S = 20
SERVICE, FILLER = "after the flip", "filler"
NEW_TRACES, SPANS_PER_NEW_TRACE, NEW_REQUESTS = 12, 5, 6
REPEATED_BATCHES = 6  # in addition to those of the last server of a directory
CHECKED_TRACES = 8
RESTARTED_SHARE = 0.25  # after how many of the flips the server is also killed and started again
FILLER_SPANS, FILLER_BYTES = 100, 12 << 10  # together more than 1 MiB, after which these servers seal a segment


class NotHandled(Exception):
    """Why a flip is not handled. `doubled`: how many spans are stored more than once."""

    def __init__(self, why, doubled=0):
        super().__init__(why)
        self.doubled = doubled


def check_end(ended):
    """Raises NotHandled unless the server ended with the status of a damaged directory."""
    if ended.status != REJECTED:
        raise NotHandled(str(ended)) from ended


class Writes:
    """What is written after one flip. `last`: the batches of the last server of the directory, which its newest log may have."""

    def __init__(self, directory, last, chance):
        self.directory, self.chance = directory, chance
        self.with_restart = chance.random() < RESTARTED_SHARE
        self.repeated = [directory.lost, *last, *chance.sample(directory.batches, REPEATED_BATCHES)]
        self.new = list(self.new_batches())
        self.fillers = (self.filler(number) for number in itertools.count())
        self.acknowledged = []
        self.is_rejected = False

    def new_span(self, trace, number):
        start = OLDER_NANO if trace in OLDER_TRACES else self.directory.start_nano + HOUR_NANO // 2
        return otlp.span(trace, f"operation {number % 9}", 1_000_000 + number, start_nano=start + number, number=number)

    def new_batches(self):
        """Small ones, so that the server fills its log ahead of them, and one with a span for each trace that the directory has."""
        for _ in range(NEW_REQUESTS):
            traces = [f"{self.chance.getrandbits(128):032x}" for _ in range(NEW_TRACES)]
            yield batch_of(SERVICE, [self.new_span(trace, number) for trace in traces for number in range(SPANS_PER_NEW_TRACE)])
        known = [*self.directory.traces, self.directory.captured, OVERSIZED, LOST, *OLDER_TRACES]
        yield batch_of(SERVICE, [self.new_span(trace, number) for number, trace in enumerate(known)])

    def filler(self, number):
        trace = f"{self.chance.getrandbits(128):032x}"
        fills = (f"{number} {i} ".ljust(FILLER_BYTES, "x") for i in range(FILLER_SPANS))
        return batch_of(FILLER, [otlp.span(trace, "fill", 1_000, start_nano=self.directory.start_nano, fill=fill) for fill in fills])

    def deliver(self, server, batch):
        """Sends until the server acknowledges the batch; false: it rejects it with an error that names the fix."""
        end = time.monotonic() + RETRY_S
        while True:
            status, answer = server.post(batch)
            if status == 200 and b"rejectedSpans" not in answer:
                self.acknowledged.append(batch)
                return True
            if NAMES_FIX.search(answer):
                self.is_rejected = True
                return False
            if status not in otlp.RETRYABLE or time.monotonic() > end:
                raise NotHandled(f"a batch is rejected with {status} and no fix: {answer[:200]!r}")
            time.sleep(0.1)

    def seal(self, server):
        """Sends spans until those that were sent before are sealed."""
        wanted, end = server.metric("fathom_store_spans"), time.monotonic() + SEALING_S

        def is_sealed():
            return server.metric("fathom_store_spans") - server.metric("fathom_store_unsealed_spans") >= wanted

        while time.monotonic() < end:
            if not self.deliver(server, next(self.fillers)):
                return
            pause = time.monotonic() + 1
            while not is_sealed():
                if time.monotonic() > pause or server.metric("fathom_seal_failures_total"):
                    break
                time.sleep(0.01)
            else:
                return
        raise NotHandled(f"the spans are not sealed after {SEALING_S} s, and no batch is rejected with an error that names the fix")

    def send(self, server):
        for batch in self.repeated + self.new:
            self.deliver(server, batch)
        self.seal(server)

    def check(self, server, total):
        """`total`: the number of spans that all services had before; None: not known."""
        expected = collections.defaultdict(set)
        for batch in self.acknowledged:
            for trace, span in batch.spans:
                expected[trace].add(span)
        doubled = missing = 0
        for trace in self.traces_to_check():
            status, answer = server.get(f"/api/v1/traces/{trace}")
            if status not in (200, 404):
                continue  # the answer reports the damage
            found = [span["span_id"] for span in json.loads(answer)["spans"]] if status == 200 else []
            doubled += len(found) - len(set(found))
            missing += len(expected[trace].difference(found))
        if not doubled and not missing and total is not None:
            surplus = self.count_surplus(server, total)
            doubled, missing = max(surplus, 0), max(-surplus, 0)
        if doubled:
            raise NotHandled(f"{doubled} spans are stored twice", doubled)
        if missing:
            raise NotHandled(f"{missing} acknowledged spans are missing")

    def traces_to_check(self):
        """One of each batch, and some others. The oversized trace and fillers are only counted."""
        acknowledged = [self.chance.choice(batch.spans)[0] for batch in self.acknowledged if batch.service != FILLER]
        chosen = {LOST, self.directory.captured, *OLDER_TRACES, *acknowledged}
        chosen.update(self.chance.sample(self.directory.traces, CHECKED_TRACES))
        return sorted(chosen - {OVERSIZED})

    def count_surplus(self, server, total):
        """How many more spans the server counts than were sent; negative: how many fewer."""
        status, answer = server.get(services_question(self.directory))
        repeated = {id(batch) for batch in self.repeated if batch is not self.directory.lost}
        sent = sum(trace not in OLDER_TRACES for batch in self.acknowledged if id(batch) not in repeated for trace, _ in batch.spans)
        return count_spans(answer) - total - sent if status == 200 else 0


def services_question(directory):
    return f"/api/v1/services?{directory.scope()}"


def count_spans(answer):
    return sum(row["spans"] for row in json.loads(answer)["services"])


def write(data, server, writes, total):
    """Writes to a server; true: it reported the damage. Raises Ended or NotHandled."""
    writes.send(server)
    writes.check(server, total)
    if writes.is_rejected or not writes.with_restart:
        return writes.is_rejected
    server.kill()
    with Server(data) as again:
        if not again.addresses:
            raise Ended(again)
        if again.lost_batches() > 0:
            return True
        writes.check(again, total)
    return False
