"""fathom's Debian packages: made from the build that is tested, and looked into."""

import functools
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from .server import BIN

NAMES = ("fathom", "fathom-agent", "fathom-server", "fathom-worker", "libfathom-client-dev", "libfathom-client0")
SERVICES = ("fathom-server", "fathom-agent")
CONFIGURATIONS = {"fathom-server": "/etc/fathom/server.conf", "fathom-agent": "/etc/fathom/agent.conf"}


def run(*command, cwd=None):
    outcome = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    if outcome.returncode != 0:
        raise AssertionError(f"{command}: status {outcome.returncode}\n{outcome.stdout}{outcome.stderr}")
    return outcome.stdout


def missing():
    """Why none can be made here; nothing when they can."""
    for program, package in (("cpack", "cmake"), ("dpkg-shlibdeps", "dpkg-dev"), ("file", "file")):
        if not shutil.which(program):
            return f"{program} is not installed: apt install {package}"
    if not (BIN.parent / "share/fathom/page/index.html").exists():
        return "the page is not built: npm is not installed"
    if not (BIN.parent / "CPackConfig.cmake").exists():
        return "this build makes no packages"
    return None


def build(output):
    """{name: path} of all of them."""
    # gzip is faster than xz, and no test depends on the compression.
    run("cpack", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", "--config", BIN.parent / "CPackConfig.cmake", "-B", output, cwd=BIN.parent)
    shutil.rmtree(pathlib.Path(output, "_CPack_Packages"))
    return debs_in(output)


def field(path, name):
    return run("dpkg-deb", "-f", path, name).strip()


def files(path):
    """{path inside: (mode, owner)} of what is no directory."""
    rows = [line.split(None, 5) for line in run("dpkg-deb", "-c", path).splitlines()]
    return {row[5].split(" -> ")[0][1:]: (row[0], row[1]) for row in rows if not row[0].startswith("d")}


def later(packages, output, version):
    """The same as packages of a later version, whose configuration files say so in a line more."""
    return {name: make_later(path, pathlib.Path(output), version) for name, path in packages.items()}


def make_later(path, output, version):
    tree = output / path.stem
    run("dpkg-deb", "-R", path, tree)
    control = tree / "DEBIAN/control"
    text = control.read_text(encoding="utf-8")
    before = field(path, "Version")
    text = text.replace(f"Version: {before}\n", f"Version: {version}\n").replace(f"(= {before})", f"(= {version})")
    control.write_text(text, encoding="utf-8")
    for file in (tree / "etc/fathom").glob("*.conf"):
        file.write_text(file.read_text(encoding="utf-8") + f"# of version {version}\n", encoding="utf-8")
    target = output / f"{path.name.replace(before, version)}"
    run("dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", tree, target)
    shutil.rmtree(tree)
    return target


def debs_in(directory):
    """{name: path} of all packages there."""
    return {path.name.split("_")[0]: path for path in pathlib.Path(directory).glob("*.deb")}


@functools.cache
def built():
    """Returns this build's packages as {name: path}, and the temporary directory that owns them, or None.

    If FATHOM_PACKAGES is set, the packages are those that packages_test.py built in that directory.
    """
    made = os.environ.get("FATHOM_PACKAGES")
    if made:
        return debs_in(made), None
    work = tempfile.TemporaryDirectory(prefix="fathom-test-")
    return build(work.name), work


class Built(unittest.TestCase):
    """A test of the packages of this build: `cls.debs`, {name: path}; `cls.work` is a directory of its own."""

    needs = staticmethod(lambda: None)  # why the test cannot be here, if it cannot

    @classmethod
    def setUpClass(cls):
        reason = missing() or cls.needs()
        if reason:
            raise unittest.SkipTest(reason)
        work = tempfile.TemporaryDirectory(prefix="fathom-test-")
        cls.addClassCleanup(work.cleanup)
        cls.work = pathlib.Path(work.name)
        cls.debs, _ = built()
