"""The units of systemd: what they promise is checked by systemd-analyze, and where systemd can be booted in a throw-away root, they
are installed, started, killed, reloaded, upgraded and removed by it."""

import re
import shutil
import subprocess
import textwrap
import time
import unittest

from harness import otlp, packages, root
from harness.main import main
from harness.server import ROOT, until

UNITS = ROOT / "deploy/systemd"
# A stand-in for sudo, which a minimal Debian lacks. Root runs it as `sudo -u USER COMMAND...` or `sudo COMMAND...`.
SUDO = """#!/bin/sh
[ "$1" = -u ] || exec "$@"
user=$2
shift 2
exec runuser -u "$user" -- "$@"
"""
DAMAGED = 7
# As `systemd-analyze security` of Debian 12 counts: 0 is a service that can do nothing, 10 one that can do everything.
MOST_EXPOSURE = {"fathom-server": 1.5, "fathom-agent": 2.4}
AGENT_CAPABILITIES = {"cap_sys_ptrace", "cap_bpf", "cap_perfmon"}


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
class Analysis(unittest.TestCase):
    def test_exposure(self):
        for name, most in MOST_EXPOSURE.items():
            said = subprocess.run(["systemd-analyze", "security", "--no-pager", "--offline=true", UNITS / f"{name}.service"],
                                  capture_output=True, text=True, check=False)
            exposure = re.search(rf"exposure level for {name}.service: ([0-9.]+)", said.stdout)
            self.assertTrue(exposure, said.stdout + said.stderr)
            print(f"{name}: exposure {exposure[1]}, at most {most}")
            self.assertLessEqual(float(exposure[1]), most)


class Order(unittest.TestCase):
    # Retention counts the time between two boots by the wall clock, so that must be right before the server starts.
    def test_the_server_starts_after_the_clock_is_set(self):
        lines = (UNITS / "fathom-server.service").read_text(encoding="utf-8").splitlines()
        for key in ("After=", "Wants="):
            words = [word for line in lines if line.startswith(key) for word in line.removeprefix(key).split()]
            self.assertIn("time-sync.target", words, key)


class Services(packages.Built):
    @staticmethod
    def needs():
        return root.missing() or root.missing_systemd()

    def test_life_under_systemd(self):
        with root.Root(systemd=True) as inside:
            self.inside = inside
            inside.apt_install(self.debs)
            try:
                self.live()
            except BaseException:
                print(inside.run("journalctl", "--no-pager", "-n", "80", check=False).stdout)
                raise

    def test_certificates_and_tokens_as_the_documentation_says(self):
        with root.Root(systemd=True) as inside:
            self.inside = inside
            inside.apt_install({name: self.debs[name] for name in ("fathom", "fathom-worker", *packages.SERVICES)})
            inside.run("sh", "-ec", "echo 127.0.0.1 traces.example >>/etc/hosts; mkdir /tmp/ca")
            chapter = (ROOT / "docs/deploy.md").read_text(encoding="utf-8").partition("### With certificates and tokens\n")[2].partition("\n## ")[0]
            commands = [textwrap.dedent(block) for block in re.findall(r"\n\n((?:    .*\n|\n(?=    ))+)", chapter)]
            (settings,) = [block for block in commands if block.startswith("# server.conf")]
            (asking,) = [block for block in commands if block.startswith("export ")]
            for block in commands:
                if block not in (settings, asking):
                    inside.run("sh", "-ec", "cd /tmp/ca\n" + block)
            columns = [re.split(r"   +", line) for line in settings.splitlines()[1:]]
            self.configure("fathom-server", "\n".join(left for left, _ in columns))
            self.configure("fathom-agent", "\n".join(["collector = traces.example:7072", *[right for _, right in columns]]))
            inside.run("systemctl", "restart", *packages.SERVICES)
            listed = until(lambda: self.ask(asking), f"the agent among the nodes\n{self.journal('fathom-agent')}")
            self.assertIn(inside.run("hostname").stdout.strip()[:8], listed)
            self.check_renewal(asking)

    def ask(self, asking):
        said = self.inside.run("sh", "-ec", "cd /tmp/ca\n" + asking, check=False)
        return said.stdout if said.returncode == 0 and len(said.stdout.splitlines()) > 1 else None

    def check_renewal(self, asking):
        pid = self.show("fathom-server", "MainPID")
        self.inside.run("sh", "-ec", "cd /tmp/ca; openssl rand -hex 32 > tokens; install -m 0640 -g fathom tokens /etc/fathom/; "
                        "install -m 0640 -g fathom-agent tokens /etc/fathom/agent-token; systemctl reload fathom-server")
        until(lambda: self.ask(asking), "the new token is known")
        self.assertEqual(self.show("fathom-server", "MainPID"), pid)
        self.inside.run("sh", "-ec", "echo short >/etc/fathom/tokens")
        self.assertNotEqual(self.inside.run("systemctl", "reload", "fathom-server", check=False).returncode, 0)
        until(lambda: "/etc/fathom/tokens:1: a line is TOKEN or NAME:TOKEN" in self.journal("fathom-server"), "the journal names the cure")
        self.assertTrue(self.ask(asking), "the token of before is known still")

    def live(self):
        self.check_verified()
        self.check_running()
        self.check_what_they_may_do()
        self.check_killed_agent()
        self.check_reload()
        self.check_wrong_configuration()
        self.check_repair()
        self.check_upgrade()
        self.check_removal()

    def show(self, unit, key):
        return self.inside.run("systemctl", "show", unit, "-P", key).stdout.strip()

    def check_verified(self):
        for name in packages.SERVICES:
            said = self.inside.run("systemd-analyze", "verify", "--man=no", f"/lib/systemd/system/{name}.service")
            self.assertEqual(said.stdout + said.stderr, "")

    def check_running(self):
        for name in packages.SERVICES:
            self.assertTrue(self.inside.is_active(name), self.inside.run("systemctl", "status", name, check=False).stdout)
            self.assertEqual(self.show(name, "Type"), "notify")
        self.check_traces()

    def check_traces(self):
        trace = otlp.trace_id()
        self.inside.send(trace)
        until(lambda: self.inside.find(trace), "a trace by OTLP is found")
        hello = self.inside.run_hello()
        until(lambda: self.inside.find(hello), "a trace by the client's memory and the agent is found")
        self.stored = trace

    def check_what_they_may_do(self):
        for name, allowed in (("fathom-server", set()), ("fathom-agent", AGENT_CAPABILITIES)):
            status = self.inside.path(f"/proc/{self.show(name, 'MainPID')}/status").read_text(encoding="ascii")
            fields = dict(re.findall(r"^(\w+):\s+(.*)$", status, re.MULTILINE))
            for which in ("CapEff", "CapBnd", "CapAmb"):
                decoded = self.inside.run("capsh", f"--decode={fields[which]}").stdout.strip().partition("=")[2]
                self.assertEqual({word for word in decoded.split(",") if word}, allowed, f"{name} {which}")
            self.assertEqual((fields["NoNewPrivs"], fields["Seccomp"]), ("1", "2"), name)
            self.assertNotEqual(fields["Uid"].split()[0], "0", name)

    def check_killed_agent(self):
        """What was handed over outlives the agent: systemd keeps it, and the next one reads on."""
        before = self.show("fathom-agent", "MainPID")
        self.assertGreater(int(self.show("fathom-agent", "NFileDescriptorStore")), 0)
        self.inside.run("systemctl", "kill", "--signal=KILL", "fathom-agent")
        until(lambda: self.inside.is_active("fathom-agent") and self.show("fathom-agent", "MainPID") not in ("0", before), "it is back")
        self.assertGreater(int(self.show("fathom-agent", "NFileDescriptorStore")), 0)
        self.check_traces()

    def configure(self, name, line):
        path = self.inside.path(packages.CONFIGURATIONS[name])
        before = path.read_text(encoding="utf-8")
        path.write_text(f"{before}{line}\n", encoding="utf-8")
        return lambda: path.write_text(before, encoding="utf-8")

    def journal(self, name, *words):
        return self.inside.run("journalctl", "--no-pager", "-u", name, *words).stdout

    def check_reload(self):
        for name in packages.SERVICES:
            pid = self.show(name, "MainPID")
            restore = self.configure(name, "log-levle = debug")
            self.assertNotEqual(self.inside.run("systemctl", "reload", name, check=False).returncode, 0)
            until(lambda name=name: "did you mean log-level?" in self.journal(name), "the journal names the cure")
            restore()
            self.configure(name, "log-level = warning")
            self.inside.run("systemctl", "reload", name)
            self.assertTrue(self.inside.is_active(name))
            self.assertEqual(self.show(name, "MainPID"), pid, "it is the same process")

    def check_wrong_configuration(self):
        """It is not tried again and again, and is started when it was made right."""
        restore = self.configure("fathom-server", "data = /elsewhere")
        self.assertNotEqual(self.inside.run("systemctl", "restart", "fathom-server", check=False).returncode, 0)
        until(lambda: self.show("fathom-server", "ActiveState") == "failed", "it has failed for good")
        self.assertIn("given twice", self.journal("fathom-server", "-p", "err"))
        restore()
        self.inside.run("systemctl", "restart", "fathom-server")
        until(lambda: self.inside.find(self.stored), "what was stored before")

    def check_repair(self):
        """A damaged directory is rejected, and repaired by the commands of docs/deploy.md as the user `fathom`."""
        sudo = self.inside.path("/usr/local/bin/sudo")
        sudo.write_text(SUDO, encoding="utf-8")
        sudo.chmod(0o755)
        chapter = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
        paragraph = chapter.partition("After damage to a disk,")[2].partition("\n`apt remove`")[0]
        (verify,) = re.findall(r"`(sudo [^`]*)`", paragraph)
        commands = re.findall(r"^    (.*)$", paragraph, re.MULTILINE)
        (settings,) = re.findall(r"`(data = [^`]*)`", paragraph)
        self.inside.run("systemctl", "stop", "fathom-server")
        self.inside.run("sh", "-ec", verify)
        self.inside.path("/var/lib/fathom/store/CURRENT").unlink()
        self.assertNotEqual(self.inside.run("systemctl", "start", "fathom-server", check=False).returncode, 0)
        until(lambda: self.show("fathom-server", "ActiveState") == "failed", "it has failed for good")
        self.assertIn("fathom store repair /var/lib/fathom NEW_DIR", self.journal("fathom-server"))
        self.assertEqual(self.inside.run("sh", "-ec", verify, check=False).returncode, DAMAGED)
        for command in commands:
            self.inside.run("sh", "-ec", command)
        self.use_data(settings)
        self.inside.run("systemctl", "start", "fathom-server")
        until(lambda: self.inside.find(self.stored), "what was stored before the damage")

    def use_data(self, settings):
        """Data on another disk, as docs/deploy.md says; `systemctl edit` makes this file, too."""
        configuration = packages.CONFIGURATIONS["fathom-server"]
        self.inside.run("sed", "-i", f"s|^data = .*|{settings}|", configuration)
        self.assertIn(f"{settings}\n", self.inside.path(configuration).read_text(encoding="utf-8"))
        unit = self.inside.path("/etc/systemd/system/fathom-server.service.d/override.conf")
        unit.parent.mkdir(parents=True, exist_ok=True)
        unit.write_text("[Service]\nReadWritePaths=/srv/fathom\n", encoding="utf-8")
        self.inside.run("systemctl", "daemon-reload")

    def check_upgrade(self):
        before = {name: self.show(name, "MainPID") for name in packages.SERVICES}
        self.inside.apt_install(packages.later(self.debs, self.work, "99.0.0"), "-o", "Dpkg::Options::=--force-confold")
        for name, pid in before.items():
            self.assertTrue(self.inside.is_active(name))
            self.assertNotEqual(self.show(name, "MainPID"), pid, f"{name} runs the program of before")
        self.assertTrue(self.inside.find(self.stored), "what was stored before")
        # A choice of the administrator's is not undone.
        self.inside.run("systemctl", "disable", "--now", "fathom-agent")
        self.inside.run("apt-get", "install", "-y", "--reinstall", "-o", "Dpkg::Options::=--force-confold",
                        *[f"/tmp/{path.name.replace(packages.field(path, 'Version'), '99.0.0')}" for path in self.debs.values()])
        self.assertEqual(self.inside.run("systemctl", "is-enabled", "fathom-agent", check=False).stdout.strip(), "disabled")

    def check_removal(self):
        begin = time.monotonic()
        self.inside.run("apt-get", "purge", "-y", *self.debs)
        self.assertLess(time.monotonic() - begin, 60)
        for name in packages.SERVICES:
            self.assertFalse(self.inside.is_active(name))
            self.assertIn(self.show(name, "LoadState"), ("not-found", "masked"))


if __name__ == "__main__":
    main()
