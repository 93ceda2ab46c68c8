"""fathom record by stepping, as people end it: Ctrl-C, a signal to the recorder alone, several windows, the last call.

The traced program must not stay stopped, and what was recorded until then is kept and named.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from harness.main import main
from harness.server import BIN, FATHOM, Server, cli, until

COMPILER = shutil.which("c++") or shutil.which("g++")
FOR_EVER = "100000000"
HOLDER = str(BIN / "span_holder")
# Small, whatever this build's sanitizer is: a whole program is stepped from its first instruction.
SHELL = ["/bin/sh", "-c", "echo it runs; exec sleep 600"]
SUBJECT = str(BIN / "step_subject")
LONGEST_SECONDS = 120  # against hanging
NOTHING_RECORDED = 6
INTERRUPTED = 128 + signal.SIGINT


def why_not():
    with tempfile.TemporaryDirectory(prefix="fathom-record-") as path:
        outcome = subprocess.run([FATHOM, "record", "--directory", path, "--engine", "step", "--", "/bin/true"],
                                 capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False)
    return outcome.stderr if "ptrace is forbidden" in outcome.stderr else None


WHY_NOT = why_not()


@unittest.skipIf(WHY_NOT, f"no stepping here: {WHY_NOT}")
class Record(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="fathom-record-")))
        self.report = self.directory / "report.json"
        self.snapshots = self.directory / "snapshots"

    def words(self, *words):
        # Nobody listens there: what is of a request is kept.
        return [str(FATHOM), "record", "--url", "http://127.0.0.1:1", "--directory", str(self.snapshots),
                "--json", str(self.report), *map(str, words)]

    def record(self, *words):
        return subprocess.run(self.words("--engine", "step", *words), capture_output=True, text=True,
                              timeout=LONGEST_SECONDS, check=False)

    def start(self, *words):
        # A session of its own, so that a signal to the group does not reach us.
        recorder = subprocess.Popen(self.words("--engine", "step", "--steps", FOR_EVER, *words), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(lambda: (recorder.stdout.close(), recorder.stderr.close()))
        self.addCleanup(self.end_group, recorder.pid)
        return recorder

    @staticmethod
    def end_group(group):
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def child_of(self, pid):
        return self.wait_for(lambda: pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    def wait_for(self, what):
        end = time.monotonic() + LONGEST_SECONDS
        while time.monotonic() < end:
            try:
                if answer := what():
                    return answer
            except (OSError, IndexError, json.JSONDecodeError):
                pass
            time.sleep(0.02)
        return self.fail("waited too long")

    def kept(self, text):
        found = re.search(r"snapshot ([0-9a-f]{32}) in ", text)
        self.assertIsNotNone(found, text)
        env = {"FATHOM_SNAPSHOTS": str(self.snapshots)}
        count = cli("snapshot", "insns", found[1], "--count", env=env).stdout.split()
        self.assertGreater(int(count[0]), 0)
        return found[1], int(count[1])

    @staticmethod
    def state(pid):
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return dict(line.split(":\t", 1) for line in status.splitlines() if line.startswith(("State", "TracerPid")))

    def test_ctrl_c_keeps_what_was_recorded(self):
        recorder = self.start("--", *SHELL)
        self.assertTrue(recorder.stdout.readline())
        os.killpg(recorder.pid, signal.SIGINT)
        _, text = recorder.communicate(timeout=LONGEST_SECONDS)
        self.assertEqual(recorder.returncode, INTERRUPTED, text)
        self.kept(text)
        self.assertEqual(list((self.snapshots / "drafts").iterdir()), [])

    def test_a_signal_to_the_recorder_alone_lets_the_program_go_on(self):
        holder = [HOLDER, "--for", "600000", "--end"]
        for window, command in ([], SHELL), (["--span", "hold"], holder), (["--function", "main"], holder):
            with self.subTest(window=window):
                self.report.unlink(missing_ok=True)
                recorder = self.start(*window, "--", *command)
                self.assertTrue(recorder.stdout.readline())  # what is recorded has begun
                child = self.child_of(recorder.pid)
                os.kill(recorder.pid, signal.SIGINT)
                # It is written while the program still runs, and that is held by nobody.
                report = self.wait_for(lambda: json.loads(self.report.read_text()))
                self.wait_for(lambda: self.state(child)["TracerPid"] == "0")
                self.assertNotIn("T", self.state(child)["State"].split()[0])
                self.assertGreater(report["instructions"], 0)
                os.kill(int(child), signal.SIGTERM)
                _, text = recorder.communicate(timeout=LONGEST_SECONDS)
                self.assertEqual(recorder.returncode, 128 + signal.SIGTERM, text)
                self.assertEqual(self.kept(text)[0], report["snapshot_id"])

    def test_termination_is_passed_on(self):
        recorder = self.start("--", *SHELL)
        self.assertTrue(recorder.stdout.readline())
        os.kill(recorder.pid, signal.SIGTERM)
        _, text = recorder.communicate(timeout=LONGEST_SECONDS)
        self.assertEqual(recorder.returncode, 128 + signal.SIGTERM, text)
        self.kept(text)

    def test_ctrl_c_before_anything_was_recorded(self):
        recorder = self.start("--span", "nothing", "--", HOLDER, "--for", "600000", "--end")
        self.assertTrue(recorder.stdout.readline())  # it runs
        os.killpg(recorder.pid, signal.SIGINT)
        _, text = recorder.communicate(timeout=LONGEST_SECONDS)
        self.assertIn("nothing was recorded", text)
        self.assertEqual(recorder.returncode, INTERRUPTED)
        self.assertEqual(json.loads(self.report.read_text())["snapshot_id"], None)

    def test_nothing_recorded_is_a_status_of_its_own_and_says_what_may_be_meant(self):
        for words, status, why in (
                (["--function", "overlaping_cal", "--", SUBJECT, "overlap"], NOTHING_RECORDED,
                 "no function is called overlaping_cal in .*did you mean overlapping_call"),
                (["--function", "exit", "--", "/bin/sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL, ""),
                (["--span", "nosuch", "--", "/bin/sh", "-c", "exit 7"], 7, "no span 'nosuch' was open"),
                (["--span", "nosuch", "--", "/bin/true"], NOTHING_RECORDED, "no span 'nosuch' was open")):
            with self.subTest(words=words):
                ran = self.record(*words)
                self.assertRegex(ran.stderr, f"nothing was recorded: .*{why}")
                self.assertEqual(ran.returncode, status, ran.stderr)

    @unittest.skipUnless(COMPILER, "there is no C++ compiler")
    def test_a_program_that_lacks_a_symbol_is_told_how_to_start(self):
        library, program = self.directory / "libpart.so", self.directory / "program"
        for source, words, output in (
                ('extern "C" { int missing(); int used() { return 0; } int unused() { return missing(); } }',
                 ["-shared", "-fPIC", "-Wl,-z,lazy"], library),
                ('extern "C" int used(); int main() { return used(); }',
                 [f"-Wl,-rpath,{self.directory}", "-Wl,-z,lazy", "-Wl,--allow-shlib-undefined", library], program)):
            subprocess.run([COMPILER, "-x", "c++", "-", "-x", "none", "-o", output, *words], input=source, text=True,
                           check=True, timeout=LONGEST_SECONDS)
        for window in ([], ["--function", "used"]):
            with self.subTest(window=window):
                failed = self.record(*window, "--", program)
                self.assertEqual(failed.returncode, 127, failed.stderr)
                self.assertRegex(failed.stderr, "nothing was recorded(.|\n)*try --keep-environment")
                started = self.record(*window, "--keep-environment", "--", program)
                self.assertEqual(started.returncode, 0, started.stderr)
                self.kept(started.stderr)
        without_program = self.record("--", self.directory / "nosuch")
        self.assertEqual(without_program.returncode, 127)
        self.assertNotIn("--keep-environment", without_program.stderr)

    def test_several_windows(self):
        for window, many in ((["--function", "fathom_span_end"], 3), (["--span", "hold"], 3),
                             (["--span", "hold", "--min-duration", "20ms"], 2)):
            with self.subTest(window=window):
                command = [HOLDER, "--for", "60"]
                recorder = self.start(*window, "--count", many, "--", *command)
                report = self.wait_for(lambda: json.loads(self.report.read_text()))
                self.end_group(recorder.pid)
                recorder.communicate(timeout=LONGEST_SECONDS)
                self.report.unlink()
                self.assertEqual(report["windows"], many)
                env = {"FATHOM_SNAPSHOTS": str(self.snapshots)}
                count = cli("snapshot", "insns", report["snapshot_id"], "--count", env=env).stdout.split()
                # What ran between two of them is missing, and said.
                self.assertEqual(list(map(int, count)), [report["instructions"], many - 1])

    def functions(self, snapshot):
        answer = cli("snapshot", "functions", snapshot, "--format", "json", "--limit", "0",
                     env={"FATHOM_SNAPSHOTS": str(self.snapshots)})
        return {one["name"].split("(")[0]: one for one in json.loads(answer.stdout)["functions"]}

    def test_each_window_is_a_call(self):
        # One thread, several windows; and two threads whose calls overlap.
        for function, many, threads, command in (("fathom_span_end", 3, "one", [HOLDER, "--for", "60"]),
                                                 ("overlapping_call", 2, "one", [SUBJECT, "overlap"]),
                                                 ("overlapping_call", 2, "all", [SUBJECT, "overlap"])):
            with self.subTest(function=function, threads=threads):
                self.report.unlink(missing_ok=True)
                recorder = self.start("--function", function, "--count", many, "--threads", threads, "--", *command)
                report = self.wait_for(lambda: json.loads(self.report.read_text()))
                self.end_group(recorder.pid)
                recorder.communicate(timeout=LONGEST_SECONDS)
                self.assertEqual((report["windows"], report["calls"], report["cut_off"]), (many, many, 0))
                found = self.functions(report["snapshot_id"])[function]
                self.assertEqual((found["calls"], found["took"]["count"]), (many, many))

    def test_a_crash_says_which_instruction(self):
        outcome = self.record("--function", "crash_here", "--", SUBJECT, "crash")
        self.assertEqual(outcome.returncode, 128 + signal.SIGSEGV)
        self.assertRegex(outcome.stderr, r"thread \d+ was killed by SIGSEGV at crash_here\+0x")
        snapshot, _ = self.kept(outcome.stderr)
        listed = cli("snapshot", "insns", snapshot, env={"FATHOM_SNAPSHOTS": str(self.snapshots)}).stdout
        self.assertRegex(listed, r"-- killed by SIGSEGV at 0x[0-9a-f]+ crash_here\+0x[0-9a-f]+, which did not run: mov")

    def test_another_program_is_a_root_of_its_own(self):
        outcome = self.record("--function", "run_subject", "--threads", "all", "--", SUBJECT, "exec")
        snapshot, _ = self.kept(outcome.stderr)
        answer = cli("snapshot", "calls", snapshot, "--format", "json", "--limit", "0",
                     env={"FATHOM_SNAPSHOTS": str(self.snapshots)})
        rows = json.loads(answer.stdout)["rows"]
        # Without libc6-dbg the loader and /bin/true have no symbols for where they start.
        start = re.compile(r"_dl_start|_start|\[ld-linux.*\]|true\+0x.*")
        starts = [row for row in rows if start.fullmatch(row["name"]) and row["instructions"] > 0]
        self.assertTrue(starts)
        while starts:  # nothing of the old program above
            names = [row["name"] for row in starts]
            self.assertNotIn("subject_exec", " ".join(names))
            starts = [rows[row["parent"]] for row in starts if row["parent"] is not None]

    def test_fewer_windows_than_were_asked_for(self):
        outcome = self.record("--function", "run_subject", "--count", "5", "--threads", "all", "--", SUBJECT, "threads")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertEqual(json.loads(self.report.read_text())["windows"], 1)
        self.kept(outcome.stderr)

    def test_the_limit_before_main_is_said(self):
        outcome = self.record("--from", "start", "--steps", "1000", "--", SUBJECT, "threads")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertIn("main() was not reached", outcome.stderr)
        self.assertFalse(json.loads(self.report.read_text())["reached_main"])
        outcome = self.record("--steps", "1000", "--", SUBJECT, "threads")
        self.assertNotIn("main() was not reached", outcome.stderr)
        snapshot, _ = self.kept(outcome.stderr)
        self.assertIn("main", self.functions(snapshot))
        self.assertNotIn("_dl_start", self.functions(snapshot))

    def test_one_thread_is_one_thread(self):
        self.record("--function", "run_subject", "--threads", "one", "--", SUBJECT, "threads")
        self.assertEqual(json.loads(self.report.read_text())["threads"], 1)

    def test_what_is_of_a_request_is_kept_where_no_server_is(self):
        outcome = self.record("--span", "hold", "--", HOLDER, "--for", "200", "--end")
        snapshot, _ = self.kept(outcome.stderr)
        self.assertRegex(outcome.stderr, "fathom record: it is kept here alone: .*127.0.0.1:1")
        self.assertIn(f"next: fathom snapshot push {snapshot[:8]} --directory {self.snapshots}", outcome.stderr)
        self.assertIs(json.loads(self.report.read_text())["pushed"], False)

    def test_a_chain_of_holders_is_followed_to_its_end(self):
        outcome = self.record("--function", "chain_begins", "--threads", "all", "--", SUBJECT, "chain")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        told = re.search(r"thread (\d+) \(step_subject\) holds a mutex that thread \d+ waits for, and waits itself for a "
                         r"mutex that thread (\d+) \(step_subject\) holds, which is in vfork \(--tid \2 shows it\)\n",
                         outcome.stderr)
        self.assertIsNotNone(told, outcome.stderr)
        victim, end = map(int, told.groups())
        report = json.loads(self.report.read_text())
        self.assertEqual((report["lock_holder"], report["blocking_thread"]), (victim, end))
        self.assertRegex(outcome.stderr, rf"next: fathom snapshot calls .* --tid {end} ")
        answer = cli("snapshot", "calls", report["snapshot_id"], "--format", "json",
                     env={"FATHOM_SNAPSHOTS": str(self.snapshots)})
        lock = json.loads(answer.stdout)["held_locks"][0]
        self.assertEqual((lock["holder"], lock["blocking_thread"], lock["system_call"]), (victim, end, "vfork"))
        self.assertEqual([link["holder"] for link in lock["chain"]], [end])

    def test_json_to_standard_output(self):
        words = self.words("--engine", "step", "--", "/bin/echo", "of the program")
        words[words.index("--json") + 1] = "-"
        outcome = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False,
                                 cwd=self.directory)
        first, second = outcome.stdout.splitlines()
        self.assertEqual(first, "of the program")
        self.assertEqual(json.loads(second)["engine"], "step")
        self.assertFalse((self.directory / "-").exists())

    def test_what_cannot_be_kept_is_said_at_once(self):
        # A file may have so many bytes, as if the disk were full: the snapshot has room, its largest images have not.
        limit = 256 << 10
        outcome = subprocess.run(self.words("--engine", "step", "--function", "main", "--", SUBJECT, "threads"),
                                 capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False,
                                 restore_signals=False,  # SIGXFSZ stays ignored
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertRegex(outcome.stderr, r"\d of \d images (is|are) not kept: File too large; what runs in (it|them) will")
        self.assertNotIn("/proc/self/fd", outcome.stderr)
        self.assertGreater(json.loads(self.report.read_text())["images_not_kept"], 0)

    def test_auto_says_which_engine_and_why(self):
        if os.path.exists("/sys/bus/event_source/devices/intel_pt"):
            self.skipTest("this machine has Intel PT")
        outcome = subprocess.run(self.words("--", "/bin/true"), capture_output=True, text=True,
                                 timeout=LONGEST_SECONDS, check=False)
        self.assertIn("engine step: this machine has no Intel PT", outcome.stderr)
        refused = subprocess.run(self.words("--engine", "pt", "--function", "f", "--", "/bin/true"), capture_output=True,
                                 text=True, timeout=LONGEST_SECONDS, check=False)
        self.assertEqual(refused.returncode, 5)
        self.assertIn("--engine step works anywhere", refused.stderr)


@unittest.skipIf(WHY_NOT, f"no stepping here: {WHY_NOT}")
class RecordedRequest(unittest.TestCase):
    """The way of a request that was recorded, to the server, and what is said of it and of others there."""

    def test_it_is_brought_linked_and_marked(self):
        with tempfile.TemporaryDirectory(prefix="fathom-record-") as path, Server() as server:
            env = {"FATHOM_URL": server.url, "FATHOM_AGENT_SOCKET": server.agent_socket, "FATHOM_SNAPSHOTS": path}
            report = pathlib.Path(path, "report.json")
            outcome = cli("record", "--engine", "step", "--span", "hold", "--json", report, "--", HOLDER, "--for",
                          "200", "--end", env=env, check=0)
            made = json.loads(report.read_text())
            self.assertIs(made["pushed"], True, outcome.stderr)
            self.assertIn(f"next: fathom trace {made['trace_id']}", outcome.stderr)
            rows = until(lambda: json.loads(cli("slowest", "--format", "json", env=env, check=0).stdout), "its span")
            marked = [row["trace_id"] for row in rows if row["stepped"]]
            self.assertEqual(marked, [made["trace_id"]], rows)
            taken = int(server.ask("/api/v1/snapshots")["snapshots"][0]["taken_unix_nano"])
            self.assertGreater(taken, int(rows[0]["start_time_unix_nano"]), "when it was over, not when it was begun")
            trace = cli("trace", made["trace_id"], env=env, check=0).stdout
            self.assertIn(f"snapshot {made['snapshot_id']}", trace)
            self.assertRegex(trace, r"stepped: 'fathom record' held pid \d+ of ")
            left = cli("slowest", "--no-stepped", "--format", "json", env=env, check=0).stdout
            self.assertNotIn(made["trace_id"], left)


if __name__ == "__main__":
    main()
