"""capture_writer, a traced program that does what a test says, and whether its scheduling can be recorded here."""

import json
import os
import subprocess
import sys

from harness.server import BIN

WRITER = str(BIN / "capture_writer")


class Writer:
    """capture_writer: does what a line says, and answers with the trace."""

    def __init__(self, agent_socket, service="writer"):
        self.process = subprocess.Popen([WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "FATHOM_AGENT_SOCKET": agent_socket,
                                             "OTEL_SERVICE_NAME": service})
        self.pid = self.process.pid

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().split()

    def say(self, line):
        self.tell(line)
        return self.answer()[0]

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def scheduling_is_told():
    """Whether this user's agent may record context switches."""
    sources = subprocess.run([BIN / "fathom-agent", "--print-sources"], capture_output=True, text=True, check=True).stdout
    told = {source["name"]: source for source in json.loads(sources)}["context switches"]
    if not told["available"]:
        print("no states of threads are looked for:", told["why_not"], told["cure"], file=sys.stderr)
    return told["available"]
