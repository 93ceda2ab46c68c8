"""Configuration files of the real programs: what is wrong is named with its line, and SIGHUP takes over what it can."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest
import urllib.request

from harness import otlp
from harness.daemon import FREE_PORTS, Daemon, run
from harness.main import main
from harness.server import BIN, PATIENCE_S, ROOT, until


class Files(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.addCleanup(self.directory.cleanup)

    def check(self, program, text, *arguments):
        path = pathlib.Path(self.directory.name, "a.conf")
        path.write_text(text, encoding="utf-8")
        return run(program, "--config", str(path), "--check-config", *arguments)

    def test_what_is_printed_is_right_and_whole(self):
        for program in ("fathom-server", "fathom-agent"):
            status, text, _ = run(program, "--print-config")
            self.assertEqual(status, 0)
            flags = [line.split()[0] for line in run(program, "--help")[1].splitlines() if line.startswith("  --")]
            keys = [line[1:].split(" = ")[0] for line in text.splitlines() if line.startswith("#") and line[1:2].isalpha()]
            typed = {"--config", "--print-config", "--check-config", "--version", "--ready-fd", "--print-sources", "--help"}
            self.assertEqual([flag[2:] for flag in flags if flag not in typed], keys)
            self.assertEqual(self.check(program, text)[0], 0)

    def test_wrong_files_are_named_with_the_cure(self):
        for program, text, words in (
                ("fathom-server", "\nretention-aeg = 7d\n", "a.conf:2: unknown key 'retention-aeg' (did you mean retention-age?)"),
                ("fathom-server", "retention-age = 7", "a.conf:1: retention-age: '7' is not a duration"),
                ("fathom-server", "# x\nretention-size = 50", "a.conf:2: retention-size: '50' is 50 B, too little"),
                ("fathom-server", "http = 7070", "a.conf:1: http: '7070' is not HOST:PORT"),
                ("fathom-server", "log-level = loud", "a.conf:1: log-level: 'loud' is none of debug, info, warning, error"),
                ("fathom-server", "services = 1\nservices = 2", "a.conf:2: 'services' is given twice; line 1 has it, too"),
                ("fathom-server", "ready-fd = 3", "a.conf:1: 'ready-fd' is of the command line only"),
                ("fathom-server", "tls-key = /k", "a.conf:1: tls-key: its certificate is missing"),
                ("fathom-server", "http = 0.0.0.0:7070\ntoken-file = /t", "tokens would go to 0.0.0.0:7070 in the clear"),
                ("fathom-server", "token-file = /nowhere", "token-file: cannot read '/nowhere'"),
                ("fathom-server", "retention-age 7d", "a.conf:1: 'retention-age 7d' is no line of this file; write retention-age = 7d"),
                ("fathom-server", "\n[server]", "a.conf:2: there are no sections; leave '[server]' out, its keys stand alone"),
                ("fathom-server", "; mine", "a.conf:1: a comment begins with '#'; write # mine"),
                ("fathom-server", "= 7d", "a.conf:1: there is no key before the '='; a line is KEY = VALUE"),
                ("fathom-server", 'data = "/srv/f"', "a.conf:1: values have no quotes; write data = /srv/f"),
                ("fathom-server", "collector = h:1", "a.conf:1: 'collector' is a key of fathom-agent, whose configuration is another file"),
                ("fathom-agent", "otlp-grpc = h:1", "a.conf:1: 'otlp-grpc' is a key of fathom-server, whose configuration is another file"),
                ("fathom-server", "http = ::1:7070", "like [::1]:7070 (an IPv6 address stands in brackets)"),
                ("fathom-server", "http = 127.0.0.1:7000\notlp-http = 127.0.0.1:7000",
                 "a.conf:2: otlp-http: 127.0.0.1:7000 is that of --http, too"),
                ("fathom-server", "max-request-bytes = 0", "a.conf:1: max-request-bytes: with 0 all would be refused"),
                ("fathom-server", "query-deadline = 0s", "a.conf:1: query-deadline: with 0 all would be refused"),
                ("fathom-server", "page = /nowhere", "a.conf:1: page: there is no directory /nowhere"),
                ("fathom-server", "tls-certificate =\ntls-key =", "a.conf:1: tls-certificate: names no file"),
                ("fathom-agent", "collector-token-file =", "a.conf:1: collector-token-file: names no file"),
                ("fathom-agent", "spool-limit = 5", "a.conf:1: spool-limit: '5' is 5 B, too little"),
                ("fathom-agent", "state =", "a.conf:1: state: the directory's name is empty"),
                ("fathom-agent", "agent-socket = /" + 120 * "a", "a.conf:1: agent-socket: the path of a socket has from 1 to 107 bytes"),
                ("fathom-agent", "pt = yes\npt-symbol = handle", "a.conf:2: pt-symbol: FILE:FUNCTION"),
                ("fathom-agent", "colector = h:1", "a.conf:1: unknown key 'colector' (did you mean collector?)"),
                ("fathom-agent", "pt = on", "a.conf:1: 'pt' takes yes or no, not 'on'"),
                ("fathom-agent", "collector = h:1\ncollector-token-file = /t", "the token would go to h:1 in the clear")):
            with self.subTest(text=text):
                status, _, says = self.check(program, text)
                self.assertEqual(status, 2)
                self.assertIn(words, says)

    def test_what_editors_leave_behind_is_taken(self):
        for text in ("\ufeffretention-age = 7d\n", "retention-age = 7d\r\ncache = 1MiB\r\n", "\tretention-age\t=\t7d\t# a week",
                     "retention-age = 7d"):
            with self.subTest(text=text):
                status, says, _ = self.check("fathom-server", text + "\n")
                self.assertEqual((status, says), (0, "the configuration is right\n"))

    def test_a_worker_that_is_missing_is_said(self):
        status, _, says = self.check("fathom-server", "snapshot-worker = /nowhere")
        self.assertEqual(status, 0)
        self.assertIn("--snapshot-worker: /nowhere cannot be run (No such file or directory)", says)

    def test_versions(self):
        for program in ("fathom", "fathom-server", "fathom-agent", "fathom-worker", "fathom-recorder", "fathom-store"):
            status, says, _ = run(program, "--version")
            self.assertEqual(status, 0, program)
            self.assertRegex(says, rf"^{program} \d+\.\d+\.\d+\n$")

    def test_a_file_that_is_not_there(self):
        status, _, says = run("fathom-server", "--config=", "--check-config")
        self.assertEqual(status, 2)
        self.assertIn("--config: names no file", says)
        status, _, says = run("fathom-server", "--config", "/nowhere/a.conf")
        self.assertEqual(status, 2)
        self.assertIn("--config: cannot read '/nowhere/a.conf': No such file or directory", says)

    def test_the_command_line_goes_before(self):
        self.assertEqual(self.check("fathom-server", "retention-age = 7", "--retention-age", "7d")[0], 0)
        status, _, says = self.check("fathom-server", "retention-age = 7d", "--retention-age", "7")
        self.assertEqual(status, 2)
        self.assertIn("fathom-server: --retention-age: '7'", says)
        self.assertEqual(self.check("fathom-agent", "pt = yes\nno-captures = yes", "--pt=no")[0], 0)


class Reload(unittest.TestCase):
    def span(self, server, **attributes):
        trace = otlp.trace_id()
        body = json.dumps(otlp.request("checkout", [otlp.span(trace, "pay", 1_000_000, **attributes)]))
        status, _, answer = otlp.post(server.addresses["otlp_http"], body)
        self.assertEqual(status, 200, answer)
        return trace

    def trace(self, server, trace):
        try:
            url = f"http://{server.addresses['http']}/api/v1/traces/{trace}"
            return json.loads(urllib.request.urlopen(url).read())
        except urllib.error.HTTPError as error:
            self.assertEqual(error.code, 404)
            return None

    def test_hangup_applies_limits_retention_and_log_level(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as data:
            before = f"{FREE_PORTS}data = {data}\nretention-age = 7d\n"
            with Daemon("fathom-server", before) as server:
                first = self.span(server, a=1, b=2, c=3)
                self.assertEqual(len(self.attributes(server, first)), 3)

                server.config.write_text(before + "attributes-per-span = 1\ncache = 1MiB\n", encoding="utf-8")
                end = server.hang_up()
                server.says("read again: changed=attributes-per-span", end)
                server.says("these keys take effect after a restart: cache", end)
                self.assertEqual(len(self.attributes(server, self.span(server, a=1, b=2, c=3))), 1)

                server.config.write_text(before + "attributes-per-span = 1\nquery-deadline = 5m\n", encoding="utf-8")
                server.says("--query-deadline: no query may take longer than 1 min 00 s before a restart", server.hang_up())

                server.config.write_text(before + "retention-aeg = 1s\nattributes-per-span = 2\n", encoding="utf-8")
                end = server.hang_up()
                server.says("all stays as it was: ", end)
                self.assertIn(f"{server.config}:7: unknown key 'retention-aeg'", server.log_text()[end:])
                self.assertEqual(len(self.attributes(server, self.span(server, a=1, b=2, c=3))), 1)

                server.config.write_text(before.replace("7d", "1s") + "log-level = error\n", encoding="utf-8")
                end = server.hang_up()
                server.says("changed=log-level,retention-age", end)
                until(lambda: self.trace(server, first) is None, "retention by its new age")
                end = server.hang_up()
                server.config.write_text("nonsense", encoding="utf-8")
                server.hang_up()
                server.says("error the configuration is not read again", end)
                self.assertNotIn(" info ", server.log_text()[end:])

    def test_hangup_applies_limits_of_memory_and_of_names(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as data:
            before = f"{FREE_PORTS}data = {data}\n"
            keys = {"ingest-memory": "8MiB", "services": "1", "operations-per-service": "1", "catalogue-memory": "1MiB",
                    "listed-attribute-keys": "100"}
            with Daemon("fathom-server", before) as server:
                self.assertEqual(self.request_of(server, 24), 200)
                self.span(server)
                server.config.write_text(before + "".join(f"{key} = {value}\n" for key, value in keys.items()), encoding="utf-8")
                end = server.hang_up()
                server.says("read again: changed=", end)
                said = re.search(r"changed=(\S+)", server.log_text()[end:]).group(1)
                self.assertEqual(set(said.split(",")), set(keys))
                server.says("--ingest-memory: 16777216 bytes at least before a restart", end)
                self.assertNotIn("take effect after a restart", server.log_text()[end:])
                self.assertEqual(self.request_of(server, 24), 413, "24 MiB are more than there may be of all requests")
                self.assertEqual(self.request_of(server, 4), 200)
                self.assertEqual(self.service_of(server, "another"), "__other__")

                server.config.write_text(before, encoding="utf-8")
                server.says("read again: changed=", server.hang_up())
                self.assertEqual(self.request_of(server, 24), 200)
                self.assertEqual(self.service_of(server, "one more"), "one more")

    def request_of(self, server, mebibytes):
        """The status of a request with attributes of so many MiB together, all of it cut to what a span may have."""
        trace = otlp.trace_id()
        request = otlp.request("checkout", [otlp.span(trace, "pay", 1_000_000, text="x" * (mebibytes << 20))])
        return otlp.post(server.addresses["otlp_http"], json.dumps(request))[0]

    def service_of(self, server, service):
        trace = otlp.trace_id()
        self.assertEqual(otlp.post(server.addresses["otlp_http"], json.dumps(otlp.request(service, [otlp.span(trace, "go", 1_000)])))[0], 200)
        return until(lambda: self.trace(server, trace), "the trace")["spans"][0]["service"]

    def attributes(self, server, trace):
        return until(lambda: self.trace(server, trace), "the trace")["spans"][0]["attributes"]

    def test_the_agent_reads_again_too(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as state:
            text = f"agent-socket = {state}/a.sock\nstate = {state}/s\ncollector = 127.0.0.1:1\nkernel-events = off\n"
            with Daemon("fathom-agent", text) as agent:
                more = "capture-budget = 1MiB\nlog-level = warning\npt-spool = 1MiB\nspool-limit = 1MiB\npt-window = 1s\n"
                agent.config.write_text(text + more, encoding="utf-8")
                end = agent.hang_up()
                agent.says("read again: changed=", end)
                said = re.search(r"changed=(\S+)", agent.log_text()[end:]).group(1)
                self.assertEqual(set(said.split(",")), {"capture-budget", "log-level", "pt-spool", "spool-limit"})
                agent.says("after a restart: pt-window", end)


class Addresses(unittest.TestCase):
    def test_one_that_cannot_be_had_is_named_with_its_flag(self):
        with socket.socket() as taken, tempfile.TemporaryDirectory(prefix="fathom-test-") as data:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            for key in ("http", "query-grpc", "otlp-grpc", "otlp-http", "ingest"):
                for address, words in ((f"127.0.0.1:{port}", "another program has this port"),
                                       ("192.0.2.1:7", "this host has no such address")):
                    free = [f"--{other}=127.0.0.1:0" for other in ("http", "otlp-grpc", "otlp-http", "ingest") if other != key]
                    with self.subTest(key=key, address=address):
                        status, _, says = run("fathom-server", f"--data={data}", *free, f"--{key}={address}")
                        self.assertEqual(status, 5)
                        self.assertIn(f"fathom-server: --{key}: cannot listen on {address}: ", says)
                        self.assertIn(words, says)


class Places(unittest.TestCase):
    @unittest.skipUnless(os.geteuid() == 0, "only root can give a directory away")
    def test_data_that_root_wrote_is_named_with_the_cure(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as place:
            with Daemon("fathom-server", f"{FREE_PORTS}data = {place}\n"):
                pass
            os.chmod(place, 0o755)
            command = ["setpriv", "--reuid", "nobody", "--clear-groups", str(BIN / "fathom-server"), "--data", place]
            outcome = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(outcome.returncode, 5)
            self.assertIn(f"Permission denied; it must belong to the user that this program runs as: chown -R USER {place}", outcome.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a directory away")
    def test_a_directory_of_another_user_is_named_with_the_cure(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as place:
            os.chmod(place, 0o755)
            for program, flags, words in (
                    ("fathom-server", ["--data", place + "/new"], "new: Permission denied; it must belong to"),
                    ("fathom-server", ["--data", place], f"cannot write {place}/version: Permission denied; it must belong to"),
                    ("fathom-agent", ["--state", place, "--agent-socket", "/tmp/fathom-no.sock"], f"{place} belongs to another user")):
                command = ["setpriv", "--reuid", "nobody", "--clear-groups", str(BIN / program), *flags]
                outcome = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
                self.assertEqual(outcome.returncode, 5, outcome.stderr)
                self.assertIn(words, outcome.stderr)
                self.assertIn("chown -R", outcome.stderr)

    def test_a_data_directory_without_its_store_is_refused_for_good(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as place:
            data = f"{place}/data"
            with Daemon("fathom-server", f"{FREE_PORTS}data = {data}\n"):
                pass
            os.rename(f"{data}/store", f"{place}/unmounted")
            status, _, says = run("fathom-server", "--data", data, "--http", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0",
                                  "--otlp-http", "127.0.0.1:0", "--ingest", "127.0.0.1:0")
            self.assertEqual(status, 7, says)
            self.assertIn(f"mount the disk of {data}/store", says)
            self.assertFalse(os.path.exists(f"{data}/store"))
            self.assertEqual(run("fathom", "up", "--data", data, "--http", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0",
                                 "--otlp-http", "127.0.0.1:0", "--ingest", "127.0.0.1:0")[0], 7)

    def test_an_upgrade_is_reverted_by_command(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as place:
            data = f"{place}/data"
            shutil.copytree(ROOT / "store/testdata/data-v5", data)
            version = pathlib.Path(data, "version")
            with Daemon("fathom-server", f"{FREE_PORTS}data = {data}\n") as server:
                server.says("from format 5 to")
                self.assertIn("in use", run("fathom-server", "revert-upgrade", data)[2])
            self.assertNotEqual(version.read_text(encoding="ascii"), "5\n")
            status, says, _ = run("fathom-server", "revert-upgrade", data)
            self.assertEqual(status, 0)
            self.assertRegex(says, "Everything received since .* is lost")
            self.assertEqual(version.read_text(encoding="ascii"), "5\n")
            self.assertIn("no upgrade", run("fathom-server", "revert-upgrade", data)[2])
            with Daemon("fathom-server", f"{FREE_PORTS}data = {data}\n"):
                pass
            self.assertEqual(run("fathom-server", "commit-upgrade", data)[0], 0)
            self.assertFalse(os.path.exists(f"{data}/before-upgrade"))

    def test_the_help_names_what_else_the_server_does_with_a_directory(self):
        text = run("fathom-server", "--help")[1]
        for words in ("fathom-server revert-upgrade DIR", "fathom-server commit-upgrade DIR", "accept-clock"):
            self.assertIn(words, " ".join(text.split()))
        for words in (["revert-upgrade"], ["commit-upgrade", "--help"]):
            status, _, says = run("fathom-server", *words)
            self.assertEqual(status, 2, says)
            self.assertIn(f"usage: fathom-server {words[0]} DIR", says)

    def test_a_damaged_version_and_a_damaged_backup_are_refused(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as place:
            data = f"{place}/data"
            shutil.copytree(ROOT / "store/testdata/data-v6", data)
            version, manifest = pathlib.Path(data, "version"), pathlib.Path(data, "before-upgrade/upgrade")
            with Daemon("fathom-server", f"{FREE_PORTS}data = {data}\n"):
                pass
            version.write_text("6\n", encoding="ascii")
            status, _, says = run("fathom-server", "--data", data, "--http", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0",
                                  "--otlp-http", "127.0.0.1:0", "--ingest", "127.0.0.1:0")
            self.assertEqual(status, 7, says)
            self.assertIn(f"echo 7 > {version}", says)
            version.write_text("7\n", encoding="ascii")
            text = manifest.read_text(encoding="ascii")
            manifest.write_text(text.replace("part store", "part stora"), encoding="ascii")
            status, _, says = run("fathom-server", "revert-upgrade", data)
            self.assertNotEqual(status, 0)
            self.assertIn(f"fathom-server commit-upgrade {data}", says)
            self.assertTrue(os.path.exists(f"{data}/store/CURRENT"))
            self.assertIn("upgrade backup", run("fathom-store", "verify", data)[1])
            self.assertEqual(run("fathom-server", "commit-upgrade", data)[0], 0)
            self.assertEqual(run("fathom-store", "verify", data)[0], 0)

    def test_an_agent_says_where_it_looked_for_its_collector(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as state:
            text = f"agent-socket = {state}/a.sock\nstate = {state}/s\nkernel-events = off\ncollector = "
            for collector, words in (("127.0.0.1:1", "nobody listens there (connection refused); is fathom-server running"),
                                     ("nowhere.invalid:1", "no host is known by that name")):
                with Daemon("fathom-agent", text + collector) as agent:
                    agent.says(f"no stream to {collector}: {words}")


if __name__ == "__main__":
    main()
