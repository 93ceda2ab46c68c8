"""Units of systemd where there is no systemd: their programs are started by their own lines, as their own users, with their own
capabilities, and with a supervisor's socket that hears READY=1."""

import os
import pathlib
import shlex
import signal
import socket

from .server import PATIENCE_S

UNITS = pathlib.Path("lib/systemd/system")


def parse(text):
    """{key: [values]} of all sections; a key without a value empties its list, as systemd has it."""
    found = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if not equals or line.startswith(("#", ";", "[")):
            continue
        found.setdefault(key.strip(), [])
        if value.strip():
            found[key.strip()].append(value.strip())
    return found


class Unit:
    """`with Unit(root, "fathom-server") as unit:` starts it and waits until it says that it is ready."""

    def __init__(self, root, name):
        self.root = root
        self.name = name
        self.keys = parse(root.path(UNITS / f"{name}.service").read_text(encoding="utf-8"))
        self.notify = f"/run/{name}.notify"
        self.log = f"/run/{name}.log"

    def one(self, key):
        (value,) = self.keys[key]
        return value

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        status = self.stop()
        if kind is not None:
            print(f"--- the log of {self.name} ---\n{self.log_text()[-6000:]}---")
        else:
            assert status == 0, f"{self.name} ended with status {status}\n{self.log_text()[-4000:]}"

    def start(self):
        self.make_directories()
        supervisor = self.listen()
        with open(self.root.path(self.log), "ab") as log:
            self.process = self.root.start(*self.command(), env={"NOTIFY_SOCKET": self.notify}, stdout=log, stderr=log)
        try:
            self.wait_until_ready(supervisor)
        finally:
            supervisor.close()

    def listen(self):
        supervisor = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = self.root.path(self.notify)
        path.unlink(missing_ok=True)
        supervisor.bind(str(path))
        path.chmod(0o666)
        supervisor.settimeout(1)
        return supervisor

    def wait_until_ready(self, supervisor):
        for _ in range(PATIENCE_S):
            if self.process.poll() is not None:
                raise AssertionError(f"{self.name} ended with status {self.process.returncode}\n{self.log_text()}")
            try:
                if b"READY=1" in supervisor.recv(4096).splitlines():
                    return
            except TimeoutError:
                pass
        raise AssertionError(f"{self.name} never said that it is ready\n{self.log_text()}")

    def make_directories(self):
        for parent, key in (("/run", "RuntimeDirectory"), ("/var/lib", "StateDirectory")):
            for name in self.keys.get(key, []):
                mode = self.one(f"{key}Mode")
                self.root.run("install", "-d", "-m", mode, "-o", self.one("User"), "-g", self.one("Group"), f"{parent}/{name}")

    def command(self):
        user = ["--reuid", self.one("User"), "--regid", self.one("Group"), "--init-groups", "--no-new-privs"]
        return ["setpriv", *user, *self.capabilities(), *shlex.split(self.one("ExecStart"))]

    def capabilities(self):
        def words(key):
            listed = " ".join(self.keys.get(key, [])).lower().replace("cap_", "+")
            return ",".join(["-all", *listed.split()])

        return ["--inh-caps", words("AmbientCapabilities"), "--ambient-caps", words("AmbientCapabilities"),
                "--bounding-set", words("CapabilityBoundingSet")]

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            os.kill(self.pid(), how)
        return self.process.wait(PATIENCE_S)

    def pid(self):
        """nsenter's child: it enters a namespace of processes by a fork."""
        from .server import children_of
        (child,) = children_of(self.process.pid)
        return child

    def log_text(self):
        return self.root.path(self.log).read_text(encoding="utf-8", errors="replace")
