"""Hosts of a fleet on one machine: network namespaces, joined to that of the test, each with an agent and a clock of its own.

The test's own thread moves into a new namespace, which has the bridge and the server; everything ends with the test.
"""

import array
import contextlib
import ctypes
import fcntl
import os
import pathlib
import shutil
import socket
import subprocess
import time
import unittest

from .server import BIN, PATIENCE_S, until

AGENT = str(BIN / "fathom-agent")
SHIFTED_CLOCK = str(BIN / "libshifted_clock.so")
CLONE_NEWNET = 0x40000000
SERVER_IP = "10.77.0.1"
FIRST_FD = 3  # where inherited descriptors begin, as systemd says
CONTROL_BYTES = socket.CMSG_SPACE(16 * array.array("i").itemsize)


def run(*words):
    outcome = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert outcome.returncode == 0, f"{' '.join(words)}: {outcome.stderr}"


def enter_hub():
    """Moves this thread into a namespace with a bridge; skips the test, aloud, where that cannot be."""
    if not shutil.which("ip") or not shutil.which("nsenter"):
        raise unittest.SkipTest("ip and nsenter (iproute2, util-linux) are not installed")
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise unittest.SkipTest(f"no network namespaces here: {os.strerror(ctypes.get_errno())}")
    try:
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "hub", "type", "bridge")
        run("ip", "addr", "add", f"{SERVER_IP}/24", "dev", "hub")
        run("ip", "link", "set", "hub", "up")
    except AssertionError as error:
        raise unittest.SkipTest(f"no bridge here: {error}") from error


class FdStore:
    """A supervisor's file descriptor store, by systemd's protocol."""

    def __init__(self, path):
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.setblocking(False)
        self.kept = {}

    def pump(self):
        """Takes what agents have sent; there is room for a few messages only until then."""
        with contextlib.suppress(BlockingIOError):
            while True:
                text, rights, _, _ = self.socket.recvmsg(4096, CONTROL_BYTES, socket.MSG_CMSG_CLOEXEC)
                fds = array.array("i")
                for _, _, data in rights:
                    fds.frombytes(data)
                self.heard(dict(line.split("=", 1) for line in text.decode().split("\n") if "=" in line), list(fds))

    def heard(self, said, fds):
        if said.get("FDSTORE") == "1" and fds:
            self.drop(said["FDNAME"])
            self.kept[said["FDNAME"]] = fds.pop()
        elif said.get("FDSTOREREMOVE") == "1":
            self.drop(said["FDNAME"])
        for descriptor in fds:
            os.close(descriptor)

    def drop(self, name):
        if name in self.kept:
            os.close(self.kept.pop(name))

    def environment(self):
        names = ":".join(self.kept)
        return {"NOTIFY_SOCKET": self.path, "LISTEN_FDS": str(len(self.kept)), "LISTEN_FDNAMES": names}

    def hand_over(self):
        """In the child, before its program: the descriptors in a row."""
        high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 1000) for descriptor in self.kept.values()]
        for number, descriptor in enumerate(high):
            os.dup2(descriptor, FIRST_FD + number)

    def close(self):
        for name in list(self.kept):
            self.drop(name)
        self.socket.close()


class Host:
    """A namespace, a link to the hub, a skewed and drifting clock, and an agent that can be killed."""

    def __init__(self, number, directory, collector, clock):
        self.number = number
        self.directory = pathlib.Path(directory, f"host-{number}")
        self.directory.mkdir()
        self.collector = collector
        self.socket = str(self.directory / "agent.sock")
        self.store = FdStore(self.directory / "notify.sock")
        self.log = open(self.directory / "agent.log", "w+b")  # pylint: disable=consider-using-with
        self.clock = {"LD_PRELOAD": SHIFTED_CLOCK, "SHIFT_FROM_NANO": str(time.clock_gettime_ns(time.CLOCK_MONOTONIC)),
                      **{f"SHIFT_{name}": str(value) for name, value in clock.items()}}
        self.link = f"h{number}"
        self.agent = None
        self.namespace = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
        self.join_hub()

    def join_hub(self):
        pid, ours = self.namespace.pid, os.readlink("/proc/thread-self/ns/net")
        until(lambda: os.readlink(f"/proc/{pid}/ns/net") != ours, "a namespace")
        run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "uplink", "netns", str(pid))
        run("ip", "link", "set", self.link, "master", "hub", "up")
        run(*self.inside(), "ip", "addr", "add", f"10.77.0.{self.number + 2}/24", "dev", "uplink")
        run(*self.inside(), "ip", "link", "set", "uplink", "up")
        run(*self.inside(), "ip", "link", "set", "lo", "up")

    def inside(self):
        return ["nsenter", "-t", str(self.namespace.pid), "-n"]

    def with_clock(self):
        return [*self.inside(), "env", *(f"{name}={value}" for name, value in self.clock.items())]

    def start_agent(self):
        self.store.pump()
        command = ["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", *self.with_clock(), AGENT, "--agent-socket", self.socket,
                   "--collector", self.collector, "--state", str(self.directory / "state")]
        # Python's own descriptors are closed by themselves; those of the store are to stay.
        self.agent = subprocess.Popen(command, stderr=self.log, close_fds=False, preexec_fn=self.store.hand_over,
                                      env={**os.environ, **self.store.environment()})

    def replace_agent(self):
        self.agent.kill()
        self.agent.wait(PATIENCE_S)
        self.start_agent()

    def spooled_bytes(self):
        return sum(file.stat().st_size for file in (self.directory / "state" / "spool").glob("*.spool"))

    def partition(self, down):
        run("ip", "link", "set", self.link, "down" if down else "up")

    def delay(self, ms):
        """False where the kernel cannot."""
        command = ["tc", "qdisc", "replace", "dev", self.link, "root", "netem", "delay", f"{ms}ms", f"{ms // 2}ms"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def close(self):
        for process in (self.agent, self.namespace):
            if process:
                process.kill()
                process.wait(PATIENCE_S)
        self.store.close()
        self.log.close()
