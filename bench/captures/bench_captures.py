#!/usr/bin/env python3
"""Measures whether the slowest requests are captured, as docs/triggers.md promises.

    ./dev bench captures [--json FILE] [--minutes N] [--hops N] [--nodes N]
                           [--steps load,durable,extend] [--keep]

Step load: four services with seeded faults and five operations each run on two nodes (two agents with default
settings on this host, and one server). Faults affect 1 to 5 % of the requests of an operation for N minutes (default:
10; the figures of a shorter run prove nothing). For each operation and whole minute, the slowest root request in the
server's list must have captures in every service that it visited. Step durable: bench-tracers uploads captures of 8
MiB. Step extend: counts the files in the example patches. The exit status is 1 if a figure of these steps has no
value.
"""

import argparse
import http.client
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build/release/bin"
MINUTE = 60 * 10**9
MARGIN = 10**7  # time that captures have before a request
ROUNDING = 10**6  # tolerance of clocks
# Each service calls the next one. On two nodes, the first two are on the first node. With one hop, half of the traces then
# stay on one node; with three, each trace of an operation that calls visits all services.
SERVICES = ["cart", "stock", "prices", "orders"]
OPERATIONS = ["browse", "order", "search", "price", "store"]
REQUESTS_PER_S = 60  # per service
BEFORE_S = 60  # time without faults
AT_LEAST = {"captures.slowest_captured_pct": 95, "captures.own_thread_pct": 99.9}
AT_MOST = {"captures.overwritten_pct": 1, "captures.mib_per_hour": 512, "captures.agent_cpu_pct": 2,
           "capture.to_durable_ms_p99": 100, "extend.files_for_source": 10, "extend.files_for_trigger": 6}
STEPS = ["load", "durable", "extend"]
# The step that measures a key, by the key's first word.
STEP_OF = {"captures": "load", "capture": "durable", "extend": "extend"}
DURABLE_ROUNDS = 200


class Failed(Exception):
    """The benchmark could not be run; the message says why."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(address, path, parameters=()):
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request("GET", path + "?" + urllib.parse.urlencode(parameters))
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        raise Failed(f"{path}: {answer.status} {body[:300]!r}")
    return body.decode()


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Fleet:
    """A server, two agents, and the services; everything is stopped at the end."""

    def __init__(self, directory, seconds, hops, nodes):
        self.directory = pathlib.Path(directory)
        self.hops = hops
        self.processes = []
        self.http = f"127.0.0.1:{free_port()}"
        self.agents = []
        self.start_server()
        for number in range(nodes):
            self.start_agent(number)
        self.services = self.start_services(seconds)

    def start(self, words, name, **environment):
        log = open(self.directory / f"{name}.log", "w", encoding="utf-8")
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=log, text=True,
                                   env={**os.environ, **environment})
        self.processes.append(process)
        return process

    def start_server(self):
        self.ingest = f"127.0.0.1:{free_port()}"
        self.start([PROGRAMS / "fathom-server", "--data", self.directory / "data", "--http", self.http,
                    "--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0", "--ingest", self.ingest], "server")
        self.wait(lambda: ask(self.http, "/readyz"), "the server")

    def start_agent(self, number):
        http_address = f"127.0.0.1:{free_port()}"
        process = self.start([PROGRAMS / "fathom-agent", "--agent-socket", self.directory / f"agent{number}.sock", "--state",
                              self.directory / f"state{number}", "--collector", self.ingest, "--node-name",
                              f"node-{number}", "--http", http_address], f"agent{number}")
        self.wait(lambda: ask(http_address, "/healthz"), "an agent")
        self.agents.append((process.pid, http_address))

    def start_services(self, seconds):
        ports = {name: free_port() for name in SERVICES}
        services = []
        for number, name in enumerate(SERVICES):
            following = SERVICES[(number + 1) % len(SERVICES)]
            node = number * len(self.agents) // len(SERVICES)
            words = [PROGRAMS / "faulty-service", name, ports[name], ports[following], seconds, REQUESTS_PER_S, BEFORE_S,
                     seconds, number + 1, self.hops]
            services.append(self.start(words, name, OTEL_SERVICE_NAME=name,
                                       FATHOM_AGENT_SOCKET=str(self.directory / f"agent{node}.sock")))
        for service in services:
            if service.stdout.readline() != "ready\n":
                raise Failed("a service did not start")
        return services

    @staticmethod
    def wait(condition, what):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                condition()
                return
            except (OSError, Failed):
                time.sleep(0.1)
        raise Failed(f"waited a minute for {what}")

    def cpu_s(self):
        return [cpu_s(pid) for pid, _ in self.agents]

    def metric(self, number, beginning):
        lines = ask(self.agents[number][1], "/metrics").splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(beginning))

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def run_load(fleet, seconds):
    """Returns the CPU time of each agent, from the first fault to the end, in percent of one processor."""
    time.sleep(BEFORE_S)
    before, begun = fleet.cpu_s(), time.monotonic()
    while any(service.poll() is None for service in fleet.services):
        left = seconds - BEFORE_S - (time.monotonic() - begun)
        print(f"captures: {max(left, 0):.0f} s left", file=sys.stderr, flush=True)
        time.sleep(30 if left > 35 else 1)
    passed = time.monotonic() - begun
    return [100 * (after - earlier) / passed for earlier, after in zip(before, fleet.cpu_s())]


def slowest(fleet, service, operation, minute):
    rows = json.loads(ask(fleet.http, "/api/v1/slowest", {
        "by": "span", "service": service, "operation": f"{service}.{operation}", "from": minute, "to": minute + MINUTE,
        "limit": 1}))["rows"]
    return rows[0] if rows else None


def captures_of(fleet, trace_id):
    return json.loads(ask(fleet.http, "/api/v1/captures", {"trace_id": trace_id, "limit": 1000}))["captures"]


def periods_of(fleet, trace_id):
    """Returns, for each service of the trace, the time from the start of its first span to the end of its last one."""
    periods = {}
    for span in json.loads(ask(fleet.http, f"/api/v1/traces/{trace_id}"))["spans"]:
        begin = int(span["start_time_unix_nano"])
        known = periods.get(span["service"], (begin, begin))
        periods[span["service"]] = (min(known[0], begin), max(known[1], begin + span["duration_nano"]))
    return periods


def covers(captures, service, period):
    """True if adjacent or overlapping captures of the service cover the whole period."""
    begin = period[0] + ROUNDING
    for capture in sorted(captures, key=lambda one: int(one["start_time_unix_nano"])):
        if capture["service"] == service and int(capture["start_time_unix_nano"]) <= begin:
            begin = max(begin, int(capture["end_time_unix_nano"]))
    return begin >= period[1] - ROUNDING


def judge(fleet, row):
    """Returns whether captures cover the request in every service, its captures, and its periods."""
    captures = captures_of(fleet, row["trace_id"])
    periods = periods_of(fleet, row["trace_id"])
    return all(covers(captures, service, period) for service, period in periods.items()), captures, periods


def own_timeline(fleet, capture):
    return json.loads(ask(fleet.http, f"/api/v1/captures/{capture['id']}/timeline"))


def is_overwritten(timeline, capture, period):
    """True if the capture lacks overwritten events of the request. `period`: the request's time in the service."""
    if "problem" in capture:
        return True
    zero = int(timeline["start_time_unix_nano"])
    begin = zero + capture["offset_nano"] + MARGIN
    if period:
        begin = max(zero + capture["offset_nano"], period[0])
    complete = [zero + capture[key] for key in ("events_complete_from_offset_nano", "kernel_complete_from_offset_nano")
                if key in capture]
    return any(instant > begin + ROUNDING for instant in complete)


def spans_on_threads(timeline):
    """Returns the spans placed on their own thread, and all spans, of the processes with captures."""
    placed = others = 0
    for process in timeline["processes"]:
        if process["captures"]:
            others += len(process["spans"])
            spans = [span for thread in process["threads"] for span in thread.get("spans", [])]
            others += sum(span.get("thread_guessed", False) for span in spans)
            placed += sum(not span.get("thread_guessed", False) for span in spans)
    return placed, placed + others


def minutes_of(begun_unix, seconds):
    first = (int(begun_unix * 10**9) // MINUTE + 1) * MINUTE
    end = int((begun_unix + seconds) * 10**9)
    return range(first, end - MINUTE + 1, MINUTE)


def judge_all(fleet, minutes):
    chosen, captured, missing, gone, slices = 0, 0, [], 0, 0
    placed, spans = 0, 0
    for minute in minutes:
        for service in SERVICES:
            for operation in OPERATIONS:
                row = slowest(fleet, service, operation, minute)
                if row is None:
                    continue
                chosen += 1
                is_captured, captures, periods = judge(fleet, row)
                captured += is_captured
                for timeline in (own_timeline(fleet, capture) for capture in captures):
                    slices += len(timeline["captures"])
                    for one in timeline["captures"]:
                        gone += is_overwritten(timeline, one, periods.get(one["service"]))
                    on_thread, all_spans = spans_on_threads(timeline)
                    placed, spans = placed + on_thread, spans + all_spans
                if not is_captured:
                    missing.append((service, operation, row["trace_id"], row["duration_nano"] / 1e6))
    for service, operation, trace_id, ms in missing[:20]:
        print(f"captures: no capture on every node: {service}.{operation} {trace_id} {ms:.1f} ms", file=sys.stderr)
    if chosen == 0 or slices == 0:
        raise Failed("no request was captured")
    return {"captures.slowest_captured_pct": 100 * captured / chosen, "captures.overwritten_pct": 100 * gone / slices,
            "captures.own_thread_pct": 100 * placed / max(spans, 1), "captures.requests": chosen}


def durable_figures(directory):
    """Runs bench-tracers: the time from the decision to upload 8 MiB of events until they are on the server's disk."""
    path = pathlib.Path(directory) / "durable.json"
    words = [PROGRAMS / "bench-tracers", "--steps", "captures", "--captures", DURABLE_ROUNDS, "--work-directory", directory,
             "--json", path]
    with open(pathlib.Path(directory) / "durable.log", "w", encoding="utf-8") as log:
        ended = subprocess.run([str(word) for word in words], stdout=log, stderr=log, check=False)
    if ended.returncode != 0:
        print(f"captures: bench-tracers ended with status {ended.returncode}; log: {log.name}", file=sys.stderr)
        return {}
    figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
    return {key: figure for key, figure in figures.items() if key.startswith("capture.to_durable_ms")}


def extend_figures():
    """Counts the files in the example patches for a new source and a new trigger."""
    patches = {name: (ROOT / f"tests/extend/{name}.patch").read_text(encoding="utf-8") for name in ("source", "trigger")}
    return {f"extend.files_for_{name}": len(re.findall(r"^diff --git ", patch, re.MULTILINE))
            for name, patch in patches.items()}


def measure(arguments, directory):
    figures = {}
    if "load" in arguments.steps:
        figures.update(load_figures(arguments, directory))
    if "durable" in arguments.steps:
        print("captures: to durable, some four minutes", file=sys.stderr, flush=True)
        figures.update(durable_figures(directory))
    if "extend" in arguments.steps:
        figures.update(extend_figures())
    return figures


def load_figures(arguments, directory):
    seconds = BEFORE_S + arguments.minutes * 60
    begun = time.time()
    fleet = Fleet(directory, seconds, arguments.hops, arguments.nodes)
    try:
        cpu = run_load(fleet, seconds)
        print("captures: waiting for the last minute's captures", file=sys.stderr, flush=True)
        time.sleep(75)
        figures = judge_all(fleet, minutes_of(begun + BEFORE_S, seconds - BEFORE_S))
        mib = max(fleet.metric(number, "fathom_agent_capture_bytes_total") for number in range(arguments.nodes)) / (1 << 20)
    finally:
        fleet.stop()
    figures["captures.mib_per_hour"] = mib / (seconds / 3600)
    figures["captures.agent_cpu_pct"] = max(cpu)
    return figures


def verdict(key, figure):
    if key in AT_MOST:
        return f"<= {AT_MOST[key]}  " + ("ok" if figure <= AT_MOST[key] else "MISSED")
    if key in AT_LEAST:
        return f">= {AT_LEAST[key]}  " + ("ok" if figure >= AT_LEAST[key] else "MISSED")
    return ""


def steps_of(text):
    steps = text.split(",")
    for step in steps:
        if step not in STEPS:
            raise argparse.ArgumentTypeError(f"{step} is none of {', '.join(STEPS)}")
    return steps


def bounded_keys(steps):
    return [key for key in [*AT_LEAST, *AT_MOST] if STEP_OF[key.partition(".")[0]] in steps]


def main():
    parser = argparse.ArgumentParser(prog="./dev bench captures", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="a file for the figures")
    parser.add_argument("--minutes", type=int, default=10, help="how long faults strike (default: 10)")
    parser.add_argument("--hops", type=int, choices=range(1, 4), default=1,
                        help="services that a call visits, one after the other (default: 1)")
    parser.add_argument("--nodes", type=int, choices=(1, 2), default=2, help="agents of the services (default: 2)")
    parser.add_argument("--steps", metavar="A,B", type=steps_of, default=STEPS,
                        help=f"of {','.join(STEPS)} (default: all)")
    parser.add_argument("--keep", action="store_true", help="keep the data directory and the logs, and say where")
    arguments = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="fathom-captures-")
    try:
        figures = measure(arguments, directory)
    except Failed as failure:
        sys.exit(f"bench captures: {failure}; logs: {directory}")
    missing = [key for key in bounded_keys(arguments.steps) if key not in figures]
    if arguments.keep or missing:
        print(f"captures: kept {directory}", file=sys.stderr)
    else:
        shutil.rmtree(directory)
    for key, figure in figures.items():
        print(f"{key:36} {figure:12.2f}   {verdict(key, figure)}")
    for key in missing:
        print(f"{key:36}   NOT MEASURED")
    if arguments.json:
        machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
        document = {"bench": "captures", "machine": machine, "minutes": arguments.minutes, "hops": arguments.hops,
                    "nodes": arguments.nodes, "figures": figures}
        if missing:
            document["not_measured"] = {key: "see the log" for key in missing}
        pathlib.Path(arguments.json).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
