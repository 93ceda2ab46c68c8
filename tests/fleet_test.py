"""A fleet on one machine: 16 hosts with clocks that are hours off, drift and step, partitions, delays, agents and servers that
are killed at random. Afterwards every finished span is stored once, and the order across hosts is right within the stated error.

Longer with FATHOM_TEST_FULL. Needs root and network namespaces.
"""

import os
import random
import signal
import subprocess
import tempfile
import time
import unittest

from harness.fleet import SERVER_IP, Host, enter_hub
from harness.main import main
from harness.server import BIN, PATIENCE_S, Server, until
from harness.spans import Writer, await_all, stored_spans

FULL = bool(os.environ.get("FATHOM_TEST_FULL"))
HOSTS = 16
CHAOS_S = 60 if FULL else 25
CUT_OFF_S = 20  # longer than a connection lives unheard
STOPPED_S = 8
HOUR_NANO = 3600 * 10**9
RELAY = str(BIN / "span_relay")
ROUNDS = 20
MOST_DRIFT_PPM = 400  # of a host; NTP slews by up to 500
DRIFT = 1e-3  # what the stated errors allow for
MOST_ERROR_NANO = 50 * 10**6  # the largest useful error of a clock offset


class Relay:
    """A program on a host that begins and ends spans when it is told to (client/programs/span_relay.cc)."""

    def __init__(self, host):
        self.process = subprocess.Popen([*host.with_clock(), RELAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "FATHOM_AGENT_SOCKET": host.socket, "OTEL_SERVICE_NAME": "relay"})

    def tell(self, line):
        """Its answer, and between which instants of the true clock it acted."""
        before = time.time_ns()
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer, "the relay died"
        return answer, (before, time.time_ns())

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()


@unittest.skipIf(os.environ.get("FATHOM_SANITIZED"), "what shifts clocks is no sanitized library")
class Fleet(unittest.TestCase):
    def setUp(self):
        self.seed = random.SystemRandom().randrange(2**32)
        self.random = random.Random(self.seed)
        print(f"seed {self.seed}, {HOSTS} hosts", flush=True)
        enter_hub()
        self.directory = self.enterContext(tempfile.TemporaryDirectory(prefix="fathom-test-"))
        self.server = self.enterContext(Server(addresses={"ingest": f"{SERVER_IP}:0"}))

    def start_fleet(self, steps=False):
        self.hosts = [self.make_host(number, steps and number % 4 == 3) for number in range(HOSTS)]
        until(lambda: len(self.connected()) == HOSTS, "all agents")
        # The server may respond slowly while all agents start. Later comparisons have smaller errors.
        until(lambda: all(node["clock"]["error_nano"] < MOST_ERROR_NANO for node in self.connected()), "small clock errors")

    def make_host(self, number, steps):
        drift = (MOST_DRIFT_PPM, -MOST_DRIFT_PPM, self.random.randrange(-100, 101))[number % 3]
        clock = {"NANO": int(self.random.uniform(-5, 5) * HOUR_NANO), "PPM": drift}
        if steps:
            clock |= {"STEP_NANO": int(self.random.uniform(-1, 1) * HOUR_NANO),
                      "STEP_AFTER_NANO": int(self.random.uniform(5, CHAOS_S) * 10**9)}
        host = Host(number, self.directory, self.server.ingest, clock)
        self.addCleanup(host.close)
        host.start_agent()
        return host

    def connected(self):
        """The agents of our hosts; the server's own host has one, too, whose clock is right."""
        nodes = self.server.ask("/api/v1/nodes")["nodes"]
        return [node for node in nodes if node["connected"] and "clock" in node and abs(node["clock"]["offset_nano"]) > 10**9]

    def write(self, host, program):
        writer = Writer(self.directory, program, "--rate", 50, threads=2, prefix=host.with_clock(),
                        environment={"FATHOM_AGENT_SOCKET": host.socket})
        self.addCleanup(writer.kill)
        return writer

    # ---- what happens to a fleet

    def some_host(self):
        """Not of the two that have their trouble for longer."""
        return self.random.choice(self.hosts[2:])

    def a_pause(self, most=0.5):
        time.sleep(self.random.uniform(0, most))  # the random moment is what is tested; nothing waits for it

    def kill_an_agent(self):
        self.some_host().replace_agent()

    def kill_the_server(self):
        victim = until(self.server.pid, "a server")
        os.kill(victim, signal.SIGKILL)
        until(lambda: self.server.pid() not in (None, victim), "the next server")

    def part_a_host(self):
        host = self.some_host()
        host.partition(True)
        self.a_pause(2)
        host.partition(False)

    def stop_an_agent(self):
        host = self.some_host()
        host.agent.send_signal(signal.SIGSTOP)
        self.a_pause()
        host.agent.send_signal(signal.SIGCONT)

    def delay_a_host(self):
        if not self.some_host().delay(self.random.choice((2, 20, 100))) and not self.said_no_delay:
            self.said_no_delay = True
            print("this kernel cannot delay packets (no netem): that part is left out", flush=True)

    said_no_delay = False

    def chaos(self, relays):
        """What was traced meanwhile."""
        begin, rounds = time.monotonic(), []
        long_troubles = [(STOPPED_S, self.wake), (CUT_OFF_S, self.join)]
        self.hosts[0].partition(True)
        self.hosts[1].agent.send_signal(signal.SIGSTOP)
        while (passed := time.monotonic() - begin) < CHAOS_S:
            what = self.random.choice((self.kill_an_agent, self.kill_the_server, self.part_a_host, self.stop_an_agent,
                                       self.delay_a_host))
            what()
            for host in self.hosts:
                host.store.pump()
            rounds.append(self.relay(relays))
            self.a_pause()
            while long_troubles and passed >= long_troubles[0][0]:
                long_troubles.pop(0)[1]()
        for _, end_of_trouble in long_troubles:  # a round may take longer than what was left of CHAOS_S
            end_of_trouble()
        return rounds

    def wake(self):
        self.hosts[1].agent.send_signal(signal.SIGCONT)

    def join(self):
        self.assertGreater(self.hosts[0].spooled_bytes(), 10_000, "what the host that is cut off keeps on disk")
        self.hosts[0].partition(False)

    def test_every_span_is_stored_once_and_in_order(self):
        self.start_fleet(steps=True)
        writers = [self.write(host, host.number) for host in self.hosts]
        for writer in writers:
            until(writer.ready, "its first spans")
        relays = self.start_relays()
        rounds = self.chaos(relays)
        for writer in writers:
            writer.kill()
        until(self.server.ready, "the server")
        verdicts = [await_all(self.server, writer) for writer in writers]
        print(f"{sum(verdict.finished for verdict in verdicts)} spans")
        self.assertEqual([verdict.lost for verdict in verdicts], [0] * HOSTS, f"seed {self.seed}")
        self.assertEqual(stored_spans(self.server), sum(verdict.found for verdict in verdicts), f"seed {self.seed}")
        measured = [one for one in rounds if self.is_measured(one)]
        print(f"{len(measured)} of {len(rounds)} rounds had every clock measured meanwhile")
        for one in measured:
            self.check_round(*one)
        errors = [self.check_round(*self.relay(relays)) for _ in range(ROUNDS)]
        print(f"stated errors: at most {max(errors) / 1e6:.3f} ms afterwards, among {HOSTS} hosts")

    # ---- clocks

    def start_relays(self):
        relays = [Relay(host) for host in self.hosts]
        for relay in relays:
            self.addCleanup(relay.close)
        return relays

    def test_times_are_right_within_the_stated_error(self):
        self.start_fleet()
        relays = self.start_relays()
        rounds = [self.relay(relays) for _ in range(ROUNDS)]
        errors = [self.check_round(*one) for one in rounds]
        print(f"stated errors: {min(errors) / 1e6:.3f} to {max(errors) / 1e6:.3f} ms, among {HOSTS} hosts")
        self.assertLess(max(errors), MOST_ERROR_NANO, "an error that says nothing")

    def relay(self, relays):
        """One trace: each host's span begins and ends within that of the host before."""
        parent, begun, ended = "-", [], []
        order = self.random.sample(relays, len(relays))
        for relay in order:
            parent, instant = relay.tell(parent)
            begun.append((parent.split("-")[2], instant))
        for relay in reversed(order):
            ended.append(relay.tell("end")[1])
        return parent.split("-")[1], begun, ended[::-1]

    def spans_of(self, trace_id, begun):
        def whole():
            trace = self.server.trace(trace_id)
            return trace if trace and len(trace["spans"]) == len(begun) else None

        return {span["span_id"]: span for span in until(whole, f"trace {trace_id}")["spans"]}

    def is_measured(self, one):
        """An agent that was killed may send what it finds before it has compared clocks again: it says that it has not."""
        trace_id, begun, _ = one
        return all("clock" in span for span in self.spans_of(trace_id, begun).values())

    def check_round(self, trace_id, begun, ended):
        spans = self.spans_of(trace_id, begun)
        for (span_id, (earliest, latest)), (end_earliest, end_latest) in zip(begun, ended):
            span = spans[span_id]
            error = span["clock"]["error_nano"]
            start = int(span["corrected_start_time_unix_nano"])
            end = start + int(span["duration_nano"])
            # A duration is of the host's own clock, which drifts.
            drift = int(span["duration_nano"]) * DRIFT
            self.assertGreaterEqual(start, earliest - error - drift, f"seed {self.seed}")
            self.assertLessEqual(start, latest + error + drift, f"seed {self.seed}")
            self.assertGreaterEqual(end, end_earliest - error, f"seed {self.seed}")
            self.assertLessEqual(end, end_latest + error, f"seed {self.seed}")
        self.check_order([spans[span_id] for span_id, _ in begun])
        return max(span["clock"]["error_nano"] for span in spans.values())

    def check_order(self, chain):
        """A child is within its parent, give or take what the two clocks may be wrong."""
        for parent, child in zip(chain, chain[1:]):
            slack = parent["clock"]["error_nano"] + child["clock"]["error_nano"]
            begins = [int(span["corrected_start_time_unix_nano"]) for span in (parent, child)]
            ends = [begin + int(span["duration_nano"]) for begin, span in zip(begins, (parent, child))]
            drift = sum(int(span["duration_nano"]) for span in (parent, child)) * DRIFT
            self.assertGreaterEqual(begins[1], begins[0] - slack - drift, f"seed {self.seed}")
            self.assertLessEqual(ends[1], ends[0] + slack, f"seed {self.seed}")


if __name__ == "__main__":
    main()
