"""fathom-server or fathom-agent by itself, with a configuration file, as a unit of systemd starts it."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile

from .server import BIN, PATIENCE_S, until

# Keys of a server that nobody else is in the way of.
FREE_PORTS = """http = 127.0.0.1:0
otlp-grpc = 127.0.0.1:0
otlp-http = 127.0.0.1:0
ingest = 127.0.0.1:0
"""


class Program:
    """`with Program(path, ...) as program:` waits until it has reported its addresses, or has ended; leaving ends it."""

    def __init__(self, *words):
        self.directory = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.log = pathlib.Path(self.directory.name, "log")
        self.words = [str(word) for word in words]
        self.process = None
        self.addresses = {}  # empty: it ended before it was ready

    def __enter__(self):
        reading, writing = os.pipe()
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([*self.words, "--ready-fd", str(writing)], stdout=log, stderr=log, pass_fds=[writing])
        os.close(writing)
        with os.fdopen(reading) as ready:
            line = ready.readline()
        self.addresses = json.loads(line) if line else {}
        return self

    def __exit__(self, kind, *_):
        self.end()
        if kind is not None:
            self.print_log()
        self.directory.cleanup()

    def end(self):
        """Its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)

    def log_text(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    def print_log(self):
        print(f"--- the log ---\n{self.log_text()[-8000:]}---")


class Daemon(Program):
    """`with Daemon("fathom-server", text, ...) as server:` waits until it is ready; leaving ends it, and asserts its exit status."""

    def __init__(self, program, config, *arguments):
        super().__init__(BIN / program, *arguments)
        self.config = pathlib.Path(self.directory.name, "daemon.conf")
        self.config.write_text(config, encoding="utf-8")
        self.words[1:1] = ["--config", str(self.config)]

    def __enter__(self):
        super().__enter__()
        assert self.addresses, f"{self.words[0]} ended with {self.process.wait(PATIENCE_S)}\n{self.log_text()}"
        return self

    def __exit__(self, kind, *rest):
        super().__exit__(kind, *rest)
        status = self.process.returncode
        assert kind is not None or status == 0, f"ended with status {status}"

    def says(self, words, since=0):
        """Waits until the log has these words behind its first `since` characters."""
        return until(lambda: words in self.log_text()[since:], f"the log to say '{words}'; it says\n{self.log_text()}")

    def hang_up(self):
        """SIGHUP; gives where the log ended."""
        end = len(self.log_text())
        self.process.send_signal(signal.SIGHUP)
        return end


def run(program, *arguments):
    """Runs it to its end: (status, standard output, standard error)."""
    outcome = subprocess.run([str(BIN / program), *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
                             check=False)
    return outcome.returncode, outcome.stdout, outcome.stderr
