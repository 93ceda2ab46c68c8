"""OpenTelemetry's SDKs as programs that know nothing but OTEL_EXPORTER_OTLP_*: each sends one span (tests/sdk/one_span*).

Node's packages come with the example shop. Python's and Go's are whoever's runs the test: `pip install opentelemetry-sdk
opentelemetry-exporter-otlp` for python3, or FATHOM_SDK_PYTHON names the interpreter that has them; `go mod download` in
tests/sdk/one_span.
"""

import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from . import node
from .server import PATIENCE_S

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "sdk"
PYTHON = os.environ.get("FATHOM_SDK_PYTHON", sys.executable)
# A machine's own lists of CAs, which some SDKs let go before what they are told.
OTHERS_LISTS = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class Node:
    protocols = ("grpc", "http/protobuf", "http/json")
    unit = 1000  # of OTEL_EXPORTER_OTLP_TIMEOUT, per second

    @staticmethod
    def command():
        node.require()
        return ["node", str(PROGRAMS / "one_span.cjs")]


class Python:
    protocols = ("grpc", "http/protobuf")
    unit = 1

    @staticmethod
    @functools.cache
    def command():
        asked = subprocess.run([PYTHON, "-c", "import opentelemetry.sdk, opentelemetry.exporter.otlp"], capture_output=True, check=False)
        if asked.returncode != 0:
            raise unittest.SkipTest(f"{PYTHON} has no OpenTelemetry: pip install opentelemetry-sdk opentelemetry-exporter-otlp")
        return [PYTHON, str(PROGRAMS / "one_span.py")]


class Go:
    protocols = ("grpc", "http/protobuf")
    unit = 1000  # of OTEL_EXPORTER_OTLP_TIMEOUT, per second

    @staticmethod
    @functools.cache
    def built():
        """(the directory, which goes when the test ends, why it could not be built)."""
        work = tempfile.TemporaryDirectory(prefix="fathom-test-")
        if not shutil.which("go"):
            return work, "go is not installed"
        # Nothing is fetched here: what is not in the module cache is skipped, aloud.
        made = subprocess.run(["go", "build", "-o", work.name + "/one_span", "."], cwd=PROGRAMS / "one_span", text=True, check=False,
                              env={**os.environ, "GOFLAGS": "-mod=readonly", "GOPROXY": "off", "GOTOOLCHAIN": "local"}, capture_output=True)
        return work, "" if made.returncode == 0 else "its modules are not here: go mod download in tests/sdk/one_span\n" + made.stderr

    @classmethod
    def command(cls):
        work, fault = cls.built()
        if fault:
            raise unittest.SkipTest(fault)
        return [work.name + "/one_span"]


def send(sdk, protocol, endpoint, ca=None, certificate=None, token=None, timeout_s=30):
    """(trace id, what the SDK's user sees); `certificate`: its path without .crt and .key."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_") and name not in OTHERS_LISTS}
    environment |= {"OTEL_SERVICE_NAME": "sdk", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_TIMEOUT": str(timeout_s * sdk.unit)}
    if ca:
        environment["OTEL_EXPORTER_OTLP_CERTIFICATE"] = ca
    if certificate:
        environment["OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"] = certificate + ".crt"
        environment["OTEL_EXPORTER_OTLP_CLIENT_KEY"] = certificate + ".key"
    if token:
        environment["OTEL_EXPORTER_OTLP_HEADERS"] = "authorization=Bearer%20" + token
    ended = subprocess.run([*sdk.command(), protocol], capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=environment)
    return ended.stdout.strip(), ended.stderr
