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


class Daemon:
    """`with Daemon("fathom-server", text, ...) as server:` waits until it is ready; leaving ends it."""

    def __init__(self, program, config, *arguments):
        self.directory = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.config = pathlib.Path(self.directory.name, "daemon.conf")
        self.log = pathlib.Path(self.directory.name, "log")
        self.config.write_text(config, encoding="utf-8")
        self.words = [str(BIN / program), "--config", str(self.config), *arguments]
        self.process = None

    def __enter__(self):
        reading, writing = os.pipe()
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([*self.words, "--ready-fd", str(writing)], stderr=log, pass_fds=[writing])
        os.close(writing)
        with os.fdopen(reading) as ready:
            line = ready.readline()
        assert line, f"{self.words[0]} ended with {self.process.wait(PATIENCE_S)}\n{self.log_text()}"
        self.addresses = json.loads(line)
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE_S)
        if kind is not None:
            print(f"--- the log ---\n{self.log_text()[-8000:]}---")
        self.directory.cleanup()
        assert kind is not None or status == 0, f"ended with status {status}"

    def log_text(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

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
