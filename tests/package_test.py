"""The Debian packages: installed, started by their units' own lines, upgraded, removed and purged in a throw-away root.

`package_test.py --measure` instead prints one line of JSON: how long it takes from `apt install ./*.deb` to the first trace found.
"""

import gzip
import json
import re
import shutil
import sys
import tempfile
import time
import unittest

from harness import otlp, packages, root
from harness.main import main
from harness.server import until
from harness.units import Unit

LATER = "99.0.0"
LEFT_AS_IT_IS = (
    # Whose address it is, is up to who makes them for others (FATHOM_MAINTAINER).
    "bogus-mail-host", "bogus-mail-host-in-debian-changelog",
    # CPack adds the call, beside the trigger that makes it superfluous, and cannot be told not to.
    "maintscript-calls-ldconfig",
    # The client lies where ./dev install puts it, too: in lib/, not in lib/x86_64-linux-gnu/.
    "pkg-config-unavailable-for-cross-compilation")


def measure():
    """Seconds from `apt install` to the first trace that is found."""
    with tempfile.TemporaryDirectory(prefix="fathom-test-") as work, root.Root() as inside:
        debs = packages.build(work)
        begin = time.monotonic()
        inside.apt_install(debs)
        with Unit(inside, "fathom-server"), Unit(inside, "fathom-agent"):
            trace = otlp.trace_id()
            inside.send(trace)
            until(lambda: inside.find(trace), "the first trace is found")
            return time.monotonic() - begin


def keys_of(text):
    """Of a configuration file; those with their default are comments."""
    return set(re.findall(r"^#?([a-z][a-z-]*) = ", text, re.MULTILINE))


class Packages(packages.Built):
    def test_one_per_program(self):
        self.assertEqual(tuple(sorted(self.debs)), packages.NAMES)
        for program, package in (("fathom", "fathom"), ("fathom-recorder", "fathom"), ("fathom-server", "fathom-server"),
                                 ("fathom-store", "fathom-server"),
                                 ("fathom-worker", "fathom-worker"), ("fathom-agent", "fathom-agent")):
            self.assertIn(f"/usr/bin/{program}", packages.files(self.debs[package]))
        self.assertIn("/usr/share/fathom/page/index.html", packages.files(self.debs["fathom-server"]))

    def test_no_file_is_in_two(self):
        owners = {}
        for name, path in self.debs.items():
            for file in packages.files(path):
                self.assertEqual(owners.setdefault(file, name), name, file)

    def test_files_are_roots_and_nobody_elses_to_write(self):
        for path in self.debs.values():
            for file, (mode, owner) in packages.files(path).items():
                self.assertEqual(owner, "root/root", file)
                self.assertFalse(mode[0] == "-" and (mode[5] == "w" or mode[8] == "w"), f"{file} {mode}")

    def test_they_name_what_they_need(self):
        for name in ("fathom", "fathom-server"):
            self.assertIn(f"fathom-worker (= {packages.field(self.debs['fathom-worker'], 'Version')})",
                          packages.field(self.debs[name], "Depends"))
        self.assertIn("librocksdb", packages.field(self.debs["fathom-server"], "Depends"))
        self.assertIn("libbpf", packages.field(self.debs["fathom-agent"], "Depends"))
        self.assertRegex(packages.field(self.debs["libfathom-client0"], "Depends"), r"^libc6 \([^,]*\)$")

    @unittest.skipUnless(shutil.which("lintian"), "lintian is not installed")
    def test_lintian_finds_nothing(self):
        packages.run("lintian", "--fail-on", "error,warning", "--suppress-tags", ",".join(LEFT_AS_IT_IS), *self.debs.values())

    def test_every_program_has_a_page_of_manual(self):
        for path in self.debs.values():
            inside = packages.files(path)
            for program in (file.removeprefix("/usr/bin/") for file in inside if file.startswith("/usr/bin/")):
                self.assertIn(f"/usr/share/man/man1/{program}.1.gz", inside)

    def test_the_manual_says_what_help_does(self):
        for program in ("fathom", "fathom-server", "fathom-agent"):
            packages.run("dpkg-deb", "-x", self.debs[program], self.work / "manual")
            text = gzip.decompress((self.work / f"manual/usr/share/man/man1/{program}.1.gz").read_bytes()).decode().replace("\\-", "-")
            helped = packages.run(self.work / "manual/usr/bin" / program, "--help")
            for label in re.findall(r"^  (--[a-z-]+(?: \S+)?)", helped, re.MULTILINE):
                self.assertIn(f".B {label}", text)
        self.assertIn(".SH FATHOM SLOWEST", packages.run("sh", "-c", f"zcat {self.work}/manual/usr/share/man/man1/fathom.1.gz"))

    def test_configuration_names_every_key(self):
        for name, path in packages.CONFIGURATIONS.items():
            packages.run("dpkg-deb", "-x", self.debs[name], self.work / name)
            keys = keys_of((self.work / name / path[1:]).read_text(encoding="utf-8"))
            self.assertEqual(keys, keys_of(packages.run(self.work / name / "usr/bin" / name, "--print-config")))
            self.assertGreater(len(keys), 10)


class Life(packages.Built):
    """What happens on a host."""

    needs = staticmethod(root.missing)

    def test_installed_upgraded_removed_purged(self):
        with root.Root() as inside:
            inside.apt_install(self.debs)
            self.check_installed(inside)
            first = otlp.trace_id()
            with Unit(inside, "fathom-server"), Unit(inside, "fathom-agent"):
                self.check_traces(inside, first)
            self.upgrade(inside)
            with Unit(inside, "fathom-server"), Unit(inside, "fathom-agent"):
                self.assertTrue(inside.find(first), "what was stored before the upgrade")
                self.check_traces(inside, otlp.trace_id())
            self.remove(inside)
            self.purge(inside)

    def check_installed(self, inside):
        for user, state in (("fathom", "/var/lib/fathom"), ("fathom-agent", "/var/lib/fathom-agent")):
            self.assertEqual(inside.run("stat", "-c", "%U:%G %a", state).stdout.strip(), f"{user}:{user} 750")
            self.assertEqual(inside.run("getent", "passwd", user).stdout.strip().split(":")[6], "/usr/sbin/nologin")
        for name, path in packages.CONFIGURATIONS.items():
            self.assertIn(path, inside.run("dpkg-query", "-W", "-f", "${Conffiles}", name).stdout)
            inside.run(f"/usr/bin/{name}", "--config", path, "--check-config")
            self.assertTrue(inside.exists(f"/etc/systemd/system/multi-user.target.wants/{name}.service"), "enabled")

    def check_traces(self, inside, trace):
        inside.send(trace)
        until(lambda: inside.find(trace), "a trace by OTLP is found")
        self.assertIn("<script", inside.browse("http://127.0.0.1:7070/"))
        # A program of anybody's, built against the installed library, finds the agent's socket by itself.
        hello = inside.run_hello()
        until(lambda: inside.find(hello), "a trace by the client's memory and the agent is found")

    def upgrade(self, inside):
        edited = packages.CONFIGURATIONS["fathom-server"]
        text = inside.path(edited).read_text(encoding="utf-8") + "cache = 64MiB\n"
        inside.path(edited).write_text(text, encoding="utf-8")
        inside.apt_install(packages.later(self.debs, self.work, LATER), "-o", "Dpkg::Options::=--force-confold")
        for name in self.debs:
            self.assertEqual(inside.run("dpkg-query", "-W", "-f", "${Version}", name).stdout, LATER)
        self.assertEqual(inside.path(edited).read_text(encoding="utf-8"), text, "an edited file is kept")
        self.assertIn(LATER, inside.path(edited + ".dpkg-dist").read_text(encoding="utf-8"))
        untouched = inside.path(packages.CONFIGURATIONS["fathom-agent"]).read_text(encoding="utf-8")
        self.assertIn(LATER, untouched, "one that nobody edited is replaced")

    def remove(self, inside):
        inside.run("apt-get", "remove", "-y", *self.debs)
        for gone in ("/usr/bin/fathom", "/usr/bin/fathom-server", "/usr/bin/fathom-agent", "/usr/share/fathom/page",
                     "/lib/systemd/system/fathom-server.service"):
            self.assertFalse(inside.exists(gone), gone)
        for kept in (*packages.CONFIGURATIONS.values(), "/var/lib/fathom", "/var/lib/fathom-agent/node-id"):
            self.assertTrue(inside.exists(kept), kept)

    def purge(self, inside):
        inside.run("dpkg", "--purge", *self.debs)
        for gone in ("/etc/fathom", "/var/lib/fathom", "/var/lib/fathom-agent",
                     "/etc/systemd/system/multi-user.target.wants/fathom-server.service"):
            self.assertFalse(inside.exists(gone), gone)
        inside.run("getent", "passwd", "fathom")  # as Debian has it


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        refused = packages.missing() or root.missing()
        if refused:
            sys.exit(f"package_test.py: {refused}")
        print(json.dumps({"deploy.deb_to_first_trace_s": round(measure(), 2)}))
    else:
        main()
