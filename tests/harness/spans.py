"""Programs that number their spans (client/programs/span_writer.cc), and whether a server has each of them once."""

import collections
import os
import pathlib
import signal
import struct
import subprocess
import time

from .server import BIN, PATIENCE_S, until

WRITER = str(BIN / "span_writer")
SPANS_PER_TRACE = 128
PAGE_BYTES = 4096
SLOT_BYTES = 64
DAY_NANO = 86400 * 10**9

Slot = collections.namedtuple("Slot", "finished lost slow_calls longest_nano longest_cpu_us waits")


class Writer:
    """One such program. `environment` says where its agent is; `prefix` is put in front of its command."""

    def __init__(self, directory, program, *flags, threads=1, environment=None, prefix=()):
        self.program = program
        self.threads = threads
        self.page = pathlib.Path(directory, f"page-{program}")
        self.page.write_bytes(bytes(PAGE_BYTES))
        command = [*prefix, WRITER, str(self.page), "--program", str(program), "--threads", str(threads), *map(str, flags)]
        self.process = subprocess.Popen(command, env={**os.environ, "OTEL_SERVICE_NAME": "writer", **(environment or {})})

    def ready(self):
        return struct.unpack_from("<Q", self.page.read_bytes())[0] == self.threads

    def slots(self):
        page = self.page.read_bytes()
        return [Slot(*struct.unpack_from("<6Q", page, SLOT_BYTES * (1 + thread))) for thread in range(self.threads)]

    def finished(self):
        return sum(slot.finished for slot in self.slots())

    def lost(self):
        return max(slot.lost for slot in self.slots())

    def kill(self, how=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(PATIENCE_S)


def trace_id(program, thread, trace):
    return "7370616e" + struct.pack(">III", program, thread, trace).hex()


def numbers_in(found):
    """The numbers that a trace's spans have, with repetition; none of a trace that is not there."""
    return [span["attributes"]["number"] for span in found["spans"]] if found else []


def numbers_of(server, program, thread, trace):
    return numbers_in(server.trace(trace_id(program, thread, trace)))


def traces_of(finished):
    """The traces of a thread that counted `finished` spans. One more span may have finished without being counted."""
    return range((finished + SPANS_PER_TRACE) // SPANS_PER_TRACE + 1)


def numbers_found(server, writer, thread, finished):
    ids = [trace_id(writer.program, thread, trace) for trace in traces_of(finished)]
    return [number for found in server.traces(ids) for number in numbers_in(found)]


class Verdict(collections.namedtuple("Verdict", "finished missing doubled found lost")):
    __slots__ = ()

    def __str__(self):
        return " ".join(f"{name}={value}" for name, value in self._asdict().items())


def judge(server, writer):
    """Counts the spans of a dead program that are missing, or stored more than once."""
    finished = missing = doubled = found = 0
    for thread, slot in enumerate(writer.slots()):
        numbers = numbers_found(server, writer, thread, slot.finished)
        there = set(numbers)
        finished += slot.finished
        found += len(there)
        doubled += len(numbers) - len(there)
        missing += sum(number not in there for number in range(slot.finished))
    return Verdict(finished, missing, doubled, found, writer.lost())


class PendingSpans:
    """Polls a server that still receives the spans of a dead program. A complete trace is not requested again."""

    def __init__(self, server, writer):
        self.server, self.writer = server, writer
        self.complete = set()

    def all_arrived(self):
        """All but as many as were counted as lost."""
        missing = sum(self.count_missing(thread, slot.finished) for thread, slot in enumerate(self.writer.slots()))
        return missing <= self.writer.lost()

    def count_missing(self, thread, finished):
        requested = [trace for trace in traces_of(finished) if (thread, trace) not in self.complete]
        ids = [trace_id(self.writer.program, thread, trace) for trace in requested]
        missing = 0
        for trace, found in zip(requested, self.server.traces(ids)):
            first = trace * SPANS_PER_TRACE
            absent = set(range(first, min(first + SPANS_PER_TRACE, finished))).difference(numbers_in(found))
            missing += len(absent)
            if not absent and first + SPANS_PER_TRACE <= finished:
                self.complete.add((thread, trace))
        return missing


def await_all(server, writer, seconds=PATIENCE_S):
    """Waits until all spans that a dead program finished, and did not count as lost, are found; the verdict."""
    try:
        until(PendingSpans(server, writer).all_arrived, "every finished span", seconds)
    except AssertionError as error:
        raise AssertionError(f"program {writer.program}: {judge(server, writer)}") from error
    verdict = judge(server, writer)
    # A program that is killed may have counted one loss per thread more than it said.
    assert verdict.missing <= verdict.lost, str(verdict)
    assert verdict.doubled == 0, f"program {writer.program}: {verdict}"
    return verdict


def stored_spans(server, service="writer"):
    """What the server counts for a service over all time: each stored row, also one that is equal to another."""
    # Spans of hosts with wrong clocks may lie in the future, until their offset is known.
    rows = server.ask("/api/v1/services", {"from": "0", "to": str(time.time_ns() + DAY_NANO)})["services"]
    return sum(row["spans"] for row in rows if row["service"] == service)
