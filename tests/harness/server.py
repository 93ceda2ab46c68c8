"""A real `fathom up` with a data directory and free ports of its own, and the questions one can ask it."""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("FATHOM_BIN", ROOT / "build/release/bin")).resolve()
FATHOM = str(BIN / "fathom")
# Sanitizers and a loaded machine slow everything down; this bounds hangs, it is no measurement.
PATIENCE_S = 120


def until(condition, what, seconds=PATIENCE_S, every=0.02):
    """Asks again and again until the condition gives something true, and returns that."""
    end = time.monotonic() + seconds
    while True:
        outcome = condition()
        if outcome:
            return outcome
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s in vain: {what}")
        time.sleep(every)


def parent_of(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    state, parent = stat.rpartition(")")[2].split()[:2]
    return None if state == "Z" else int(parent)


def children_of(pid):
    pids = (int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit())
    return [child for child in pids if parent_of(child) == pid]


def program_of(pid):
    """The program's file name; of a child that is about to become one, our own."""
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
    except OSError:
        return None


def cli(*arguments, check=None, timeout=PATIENCE_S, env=None):
    """Runs `fathom ARGUMENTS`; with `check`, its exit status must be that."""
    environment = {**os.environ, "NO_COLOR": "1", **(env or {})}
    outcome = subprocess.run([FATHOM, *arguments], capture_output=True, text=True, timeout=timeout, check=False,
                             env=environment)
    if check is not None and outcome.returncode != check:
        raise AssertionError(f"fathom {' '.join(arguments)}: status {outcome.returncode}, not {check}\n"
                             f"{outcome.stdout}{outcome.stderr}")
    return outcome


class Server:
    """`with Server() as server:` starts it and waits until it is ready; leaving stops it and looks at its exit status."""

    def __init__(self, data=None, arguments=(), addresses=None, token=False):
        """`token`: queries need the token of the data directory, as they do by default; most tests ask without."""
        self.directory = None if data else tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.data = str(data or pathlib.Path(self.directory.name, "data"))
        self.sockets = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.agent_socket = str(pathlib.Path(self.sockets.name, "agent.sock"))
        self.arguments = list(arguments) + ([] if token else ["--query-token-file", "none"])
        self.wanted = addresses or {}
        self.process = None
        self.log = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print(f"--- the server's log ---\n{self.log_text()[-8000:]}---")
        try:
            if self.process:
                status = self.stop()
                assert kind is not None or status == 0, f"fathom up ended with status {status}\n{self.log_text()[-4000:]}"
        finally:
            self.clean_up()

    def clean_up(self):
        self.log.close()
        self.sockets.cleanup()
        if self.directory:
            self.directory.cleanup()

    def command(self):
        words = [FATHOM, "up", "--data", self.data]
        for name, flag in (("http", "--http"), ("otlp_grpc", "--otlp-grpc"), ("otlp_http", "--otlp-http"),
                           ("ingest", "--ingest")):
            words += [flag, self.wanted.get(name, "127.0.0.1:0")]
        # Its own: neither this host's programs nor another test's are meant.
        return words + ["--agent-socket", self.agent_socket] + self.arguments

    def start(self):
        assert pathlib.Path(FATHOM).exists(), f"{FATHOM} is not there: ./dev build, or set FATHOM_BIN"
        self.process = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        assert line, f"fathom up said nothing and ended with {self.process.wait(PATIENCE_S)}\n{self.log_text()}"
        self.addresses = json.loads(line)
        assert set(self.addresses) >= {"http", "otlp_grpc", "otlp_http", "ingest", "agent_socket"}, line
        self.http = self.addresses["http"]
        self.otlp_http = self.addresses["otlp_http"]
        self.otlp_grpc = self.addresses["otlp_grpc"]
        self.query_grpc = self.addresses.get("query_grpc")  # with --query-grpc among the arguments
        self.ingest = self.addresses["ingest"]
        self.url = f"http://{self.http}"

    def stop(self, how=signal.SIGTERM):
        process, self.process = self.process, None
        process.send_signal(how)
        status = process.wait(PATIENCE_S)
        process.stdout.close()
        return status

    def log_text(self):
        self.log.seek(0)
        return self.log.read()

    def pid(self):
        """Of fathom-server, the child that does the work; nothing while there is none."""
        return self.pid_of("fathom-server")

    def agent_pid(self):
        return self.pid_of("fathom-agent")

    def pid_of(self, program):
        return next((pid for pid in children_of(self.process.pid) if program_of(pid) == program), None)

    def get(self, path, parameters=(), timeout=PATIENCE_S):
        """(status, text) of a GET on the query port; (0, reason) when nobody answers."""
        url = self.url + path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
        try:
            with urllib.request.urlopen(url, timeout=timeout) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")
        except OSError as error:
            return 0, str(error)

    def ask(self, path, parameters=()):
        status, text = self.get(path, parameters)
        assert status == 200, f"{path}: {status} {text}"
        return json.loads(text)

    def trace(self, trace_id):
        """The trace as the API gives it; nothing when it is not there."""
        status, text = self.get(f"/api/v1/traces/{trace_id}")
        assert status in (200, 404), f"trace {trace_id}: {status} {text}"
        return json.loads(text) if status == 200 else None

    def traces(self, trace_ids):
        """Each of many traces like trace(), over one connection."""
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.url).netloc, timeout=PATIENCE_S)
        with contextlib.closing(connection):
            for trace_id in trace_ids:
                connection.request("GET", f"/api/v1/traces/{trace_id}")
                response = connection.getresponse()
                text = response.read()
                assert response.status in (200, 404), f"trace {trace_id}: {response.status} {text!r}"
                yield json.loads(text) if response.status == 200 else None

    def ready(self):
        return self.get("/readyz", timeout=5)[0] == 200

    def metrics(self):
        """{'name{labels}': value} of /metrics."""
        status, text = self.get("/metrics")
        assert status == 200, text
        samples = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in samples}
