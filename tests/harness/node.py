"""Programs on OpenTelemetry's Node SDK, whose packages the example shop brings along."""

import os
import pathlib
import shutil
import subprocess
import unittest

from .server import PATIENCE_S, ROOT

SHOP = ROOT / "examples/otel-shop"
PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "sdk"


def missing():
    if not shutil.which("node"):
        return "node is not installed"
    if not (SHOP / "node_modules").is_dir():
        return f"the packages are not installed: npm ci --prefix {SHOP.relative_to(ROOT)}"
    return None


def require():
    """Skips the test, aloud, when there is no Node or no SDK. ./dev test installs both."""
    reason = missing()
    if reason:
        raise unittest.SkipTest(reason)


def start(program, *arguments, **environment):
    command = ["node", str(PROGRAMS / program), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env={**os.environ, **environment})


def run(program, *arguments, **environment):
    """The program's standard output; it must end with status 0."""
    process = start(program, *arguments, **environment)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, f"{program} ended with status {process.returncode}\n{output}"
    return output
