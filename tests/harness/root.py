"""A throw-away root: this machine's own files under an overlay, with namespaces of its own, so that packages can be installed,
services started and ports taken, and nothing of it is left. With systemd in it, if one likes: `Root(systemd=True)`."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from . import otlp
from .server import PATIENCE_S, ROOT, children_of, until

# Runs in the new namespaces. The upper layer is memory; what is mounted below / (the tree itself, perhaps) is not seen.
SET_UP = r"""
set -e
mount -t tmpfs -o mode=755 none "$WORK"
cd "$WORK"
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
cd root
ip link set lo up
mount -t proc proc proc
# Nothing of the kernel's that all roots share is changed here.
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
if [ -n "$SYSTEMD" ]; then mount -t cgroup2 cgroup2 sys/fs/cgroup; fi
for directory in run tmp dev; do mount -t tmpfs -o mode=755 none $directory; done
chmod 1777 tmp
mkdir dev/pts dev/shm run/lock
for device in null zero full random urandom tty; do : >dev/$device; mount --bind /dev/$device dev/$device; done
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=1777 none dev/shm
# Only what the test starts: nothing of this machine's own services, and no policy of a container's against starting any.
rm -rf etc/systemd/system/*.wants usr/sbin/policy-rc.d etc/fathom var/lib/fathom var/lib/fathom-agent
# Otherwise indexing manual pages and remote packages, which no test reads, takes most of the time of an installation.
rm -rf var/lib/man-db/auto-update var/lib/apt/lists/*
for unit in modules-load remount-fs; do ln -sf /dev/null etc/systemd/system/systemd-$unit.service; done
printf '[Unit]\nWants=basic.target\nAfter=basic.target\n' >etc/systemd/system/fathom-test.target
pivot_root . mnt
umount -l /mnt
echo ready
if [ -n "$SYSTEMD" ]; then
  exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=fathom-test.target \
    --log-target=journal >/dev/null 2>&1
fi
# The first process of a namespace gets the orphans; these it must not leave as zombies.
exec "$PYTHON" -c 'import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True: signal.pause()'
"""
NOBODY = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]
SEND = """
import sys, urllib.request
request = urllib.request.Request(sys.argv[1], sys.stdin.buffer.read(), {"Content-Type": "application/json"})
print(urllib.request.urlopen(request, timeout=60).read().decode())
"""
BROWSE = """
import sys, urllib.request
print(urllib.request.urlopen(urllib.request.Request(sys.argv[1], headers={"Accept": "text/html"}), timeout=60).read().decode())
"""
UNIFIED = [pathlib.Path("/sys/fs/cgroup/unified"), pathlib.Path("/sys/fs/cgroup")]


def missing():
    """Why there can be none on this machine; nothing when there can."""
    if os.geteuid() != 0:
        return "only root can make a root of its own"
    for program in ("unshare", "nsenter", "pivot_root", "dpkg", "apt-get", "ip"):
        if not shutil.which(program):
            return f"{program} is not installed"
    with tempfile.TemporaryDirectory(prefix="fathom-test-") as work:
        script = ("cd $WORK && mount -t tmpfs none . && mkdir u w r && "
                  "mount -t overlay overlay -o lowerdir=/,upperdir=u,workdir=w r")
        outcome = subprocess.run(["unshare", "-m", "-n", "-p", "--fork", "sh", "-c", script], env={**os.environ, "WORK": work},
                                 capture_output=True, text=True, check=False)
    return f"no overlay in namespaces of its own: {outcome.stderr.strip()}" if outcome.returncode else None


def missing_systemd():
    if not pathlib.Path("/lib/systemd/systemd").exists():
        return "systemd is not installed"
    return None if unified() else "there are no control groups (v2) that can be written to"


def unified():
    return next((path for path in UNIFIED if (path / "cgroup.procs").exists() and os.access(path, os.W_OK)), None)


class Root:
    def __init__(self, systemd=False):
        self.systemd = systemd
        self.work = tempfile.TemporaryDirectory(prefix="fathom-root-")
        self.group = None

    def __enter__(self):
        environment = {**os.environ, "WORK": self.work.name, "SYSTEMD": "1" if self.systemd else "",
                       "PYTHON": sys.executable}
        self.holder = subprocess.Popen(self.command(), env=environment, stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "ready\n", "the root could not be made; its words are above"
        (self.pid,) = children_of(self.holder.pid)
        try:
            if self.systemd:
                until(lambda: self.is_active("fathom-test.target"), "systemd is up")
        except AssertionError:
            self.__exit__()
            raise
        return self

    def is_active(self, unit):
        return self.run("systemctl", "is-active", unit, check=False).returncode == 0

    def command(self):
        unshare = ["unshare", "-m", "-n", "-p", "-u", "-i", "--fork", "--kill-child"]
        if not self.systemd:
            return [*unshare, "sh", "-c", SET_UP]
        self.group = unified() / f"fathom-test-{os.getpid()}"
        self.group.mkdir(exist_ok=True)
        # In a control group of its own first, so that systemd sees no other.
        return ["sh", "-c", f'echo $$ >"{self.group}/cgroup.procs" && exec "$@"', "sh", *unshare, "-C", "sh", "-c", SET_UP]

    def __exit__(self, *_):
        for pid in (self.pid, self.holder.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.holder.wait(PATIENCE_S)
        self.holder.stdout.close()
        self.work.cleanup()
        if self.group:
            until(self.group_is_gone, "the control groups are empty")

    def group_is_gone(self):
        for directory, _, _ in os.walk(self.group, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(directory)
        return not self.group.exists()

    def enter(self, *command):
        return ["nsenter", "-t", str(self.pid), "-m", "-n", "-p", "-u", "-i", *([] if not self.systemd else ["-C"]), "-r", "-w",
                *[str(word) for word in command]]

    def run(self, *command, check=True, timeout=PATIENCE_S, **options):
        outcome = subprocess.run(self.enter(*command), capture_output=True, text=True, timeout=timeout, check=False,
                                 env=self.environment(), **options)
        if check and outcome.returncode != 0:
            raise AssertionError(f"{command}: status {outcome.returncode}\n{outcome.stdout}{outcome.stderr}")
        return outcome

    def start(self, *command, env=None, **options):
        return subprocess.Popen(self.enter(*command), env={**self.environment(), **(env or {})}, **options)

    @staticmethod
    def environment():
        return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
                "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "HOME": "/root"}

    def path(self, inside):
        """The same file, seen from outside."""
        return pathlib.Path(f"/proc/{self.pid}/root") / str(inside).lstrip("/")

    def copy_in(self, source, inside):
        target = self.path(inside)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
        return inside

    def exists(self, inside):
        return os.path.lexists(self.path(inside))

    def apt_install(self, debs, *options):
        names = [self.copy_in(path, f"/tmp/{path.name}") for path in debs.values()]
        self.run("apt-get", "install", "-y", "--no-install-recommends", *options, *names)

    def send(self, trace, service="packaged"):
        """One span by OTLP, to where programs send it unless told otherwise: this root has a network of its own."""
        body = json.dumps(otlp.request(service, [otlp.span(trace, "GET /", 5_000_000)]))
        said = self.run(sys.executable, "-c", SEND, "http://127.0.0.1:4318/v1/traces", input=body).stdout
        assert not json.loads(said or "{}").get("partialSuccess"), said

    def browse(self, url):
        return self.run(sys.executable, "-c", BROWSE, url).stdout

    def find(self, trace):
        return self.run("fathom", "trace", trace, "--format", "json", check=False).returncode == 0

    def run_hello(self):
        """The trace of a stranger's program that uses the client as it is installed here."""
        self.copy_in(ROOT / "examples/hello/hello.cc", "/tmp/hello.cc")
        self.run("sh", "-c", "cd /tmp && g++ hello.cc -o hello $(pkg-config --cflags --libs fathom-client)")
        return self.run(*NOBODY, "env", "OTEL_SERVICE_NAME=hello", "/tmp/hello").stdout.split()[1]
