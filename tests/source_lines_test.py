"""Down to the line of source: a program as people build it (-O2 -g), whose lock is taken by an inlined std::lock_guard.

Who holds the lock, who waits, at which line of the program, and the text of that line, by the command line and by the
server, which shows text only below the directories that it was told.
"""

import json
import re
import subprocess
import tempfile
import unittest

from harness.main import main
from harness.server import PATIENCE_S, ROOT, Server, cli
from record_test import COMPILER, WHY_NOT

SOURCES = ROOT / "tests/programs"
COMPILED_AS = "/made/programs"  # its file is named by a path that is relative to /made


def line_of(text):
    lines = (SOURCES / "lock_holder.cc").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


WAITS_AT = line_of("// waits")
WAITS_TEXT = "const std::lock_guard<std::mutex> guard(shelves);  // waits"


@unittest.skipIf(WHY_NOT, f"no stepping here: {WHY_NOT}")
@unittest.skipUnless(COMPILER, "there is no C++ compiler")
class SourceLines(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="fathom-lines-")
        cls.addClassCleanup(cls.scratch.cleanup)
        program = f"{cls.scratch.name}/lock_holder"
        subprocess.run([COMPILER, "-std=c++20", "-O2", "-g", "-pthread", f"-ffile-prefix-map={SOURCES.parent}=/made",
                        "-Wl,-z,lazy", "programs/lock_holder.cc", "-o", program], cwd=SOURCES.parent, check=True,
                       timeout=PATIENCE_S)
        cls.env = {"FATHOM_SNAPSHOTS": f"{cls.scratch.name}/snapshots"}
        cls.lazy_env = {"FATHOM_SNAPSHOTS": f"{cls.scratch.name}/lazy"}
        cls.recorded = cls.record(cls.env, program)
        cls.record(cls.lazy_env, program, "--keep-environment")

    @staticmethod
    def record(env, program, *words):
        return cli("record", "--engine", "step", "--function", "reserve", "--threads", "all", *words, "--", program,
                   check=0, env=env)

    def ask(self, *words, env=None):
        return cli("snapshot", words[0], "last", *words[1:], check=0, env=env or self.env).stdout

    def rows(self, *words, env=None):
        return json.loads(self.ask(*words, "--limit", "0", "--format", "json", env=env))["rows"]

    def test_the_lock_is_told_though_nobody_waited_when_recording_began(self):
        self.assertRegex(self.recorded.stderr, r"thread \d+ \(lock_holder\) holds a mutex that thread \d+ waits for, and "
                                               r"is in clock_nanosleep \(--tid")
        answer = json.loads(self.ask("calls", "--format", "json"))
        self.assertEqual(len(answer["held_locks"]), 1)
        lock = answer["held_locks"][0]
        self.assertEqual(lock["waiters"], [answer["trigger"]["tid"]])
        head = self.ask("calls").partition("\n\n")[0]
        self.assertRegex(head, f"lock: thread {lock['holder']} .* holds a mutex that thread {lock['waiters'][0]} ")

    def test_whoever_holds_the_lock_comes_first(self):
        lock = json.loads(self.ask("calls", "--format", "json"))["held_locks"][0]
        holder, waiter = str(lock["holder"]), str(lock["waiters"][0])
        head, _, table = self.ask("calls").partition("\n\n")
        self.assertIn(f"(--tid {holder} shows it)\n", head)
        self.assertEqual(re.findall(r" thread (\d+) ", table)[:2], [holder, waiter])
        threads = json.loads(self.ask("stats", "--format", "json"))["threads"]
        self.assertEqual([str(row["tid"]) for row in threads][:2], [holder, waiter])
        self.assertEqual(re.findall(r"^-- thread (\d+) ", self.ask("insns"), re.MULTILINE)[:2], [holder, waiter])

    def test_calls_have_the_line_of_their_caller_not_of_a_header(self):
        locks = [row for row in self.rows("calls") if row["name"].endswith("pthread_mutex_lock")]
        self.assertEqual([row["called_from_line"] for row in locks], [f"programs/lock_holder.cc:{WAITS_AT}"])
        self.assertNotIn("gthr", self.ask("calls").split("pthread_mutex_lock")[1].splitlines()[0])

    def test_a_call_by_a_function_that_was_inlined_has_its_name_and_line(self):
        place = "programs/lock_holder.cc:"
        rows = [row for row in self.rows("calls")
                if "puts" in row["name"] and row.get("called_from_line") == f"{place}{line_of('// inlines')}"]
        self.assertEqual(len(rows), 1, rows)
        inlined = rows[0]["called_from_inlined"]
        self.assertEqual(inlined["line"], f"{place}{line_of('// reports')}")
        self.assertIn("report", inlined["function"])
        told = self.ask("calls", f"--source-dir={COMPILED_AS}={SOURCES}")
        self.assertRegex(told, rf"{place}\d+: if \(std::puts.* in .*report.*, inlined at {place}\d+: report")

    def test_instructions_have_their_own_line_and_all_around_it(self):
        call = next(row for row in self.rows("insns", "--inlines") if row.get("target") == "pthread_mutex_lock@plt")
        self.assertIn("/bits/", call["file"])
        names = [re.sub(r" \[clone .*", "", frame["function"]).rpartition("::")[2] for frame in call["inlined"]]
        frames = list(zip(names, [frame["line"] for frame in call["inlined"]]))
        self.assertEqual(frames[0], ("__gthread_mutex_lock", call["line"]))
        self.assertEqual(frames[-1], ("take(int)", WAITS_AT))
        self.assertIn("lock()", names)
        self.assertNotIn("inlined", json.dumps(self.rows("insns")))
        chain = rf"\n +programs/lock_holder.cc:{WAITS_AT} in .*take\(int\).*\n.* in .*lock_guard"
        self.assertTrue(re.search(chain, self.ask("insns", "--inlines")))

    def test_that_line_can_be_asked_for(self):
        answer = json.loads(self.ask("delta", "--from", f"lock_holder.cc:{WAITS_AT}", "--to", "pthread_mutex_lock",
                                     "--format", "json"))
        self.assertEqual((answer["from"]["count"], answer["instruction_count"]["count"]), (1, 1))

    def test_the_text_of_lines(self):
        where = f"--source-dir={COMPILED_AS}={SOURCES}"
        self.assertIn(f"(programs/lock_holder.cc:{WAITS_AT}: {WAITS_TEXT})", self.ask("calls", where))
        self.assertIn(f" programs/lock_holder.cc:{WAITS_AT}: {WAITS_TEXT}\n", self.ask("insns", where))
        nowhere = self.ask("insns", "--source")
        self.assertNotIn(WAITS_TEXT, nowhere)
        self.assertIn("\nsource: no text of /made/programs/lock_holder.cc", nowhere)

    def test_entries_of_linkage_tables_have_names(self):
        symbols = {row.get("symbol", "") for row in self.rows("insns", env=self.lazy_env)}
        self.assertIn("pthread_mutex_lock@plt", symbols)
        self.assertIn("first-call@plt", symbols)
        names = [row["name"] for row in self.rows("calls", env=self.lazy_env)]
        self.assertEqual([name for name in names if name.startswith("lock_holder+")], [])

    def test_functions_are_bound_before_recording_unless_the_environment_is_kept(self):
        symbols = {row.get("symbol", "") for row in self.rows("insns")}
        self.assertIn("pthread_mutex_lock@plt", symbols)
        self.assertNotIn("first-call@plt", symbols)
        self.assertEqual([row["name"] for row in self.rows("calls") if "_dl_runtime_resolve" in row["name"]], [])
        lazy = [row for row in self.rows("calls", env=self.lazy_env) if row["name"].startswith("_dl_runtime_resolve")]
        self.assertEqual([row for row in lazy if not row.get("lazy_binding")], [])
        # A stripped dynamic linker has no such row.
        self.assertEqual("(lazy binding)" in self.ask("calls", "--limit", "0", env=self.lazy_env), bool(lazy))

    def test_what_took_the_time_comes_first(self):
        answer = json.loads(self.ask("calls", "--limit", "0", "--format", "json"))
        self.assertEqual(answer["ranked_by"], "time")
        self.assertRegex(self.ask("calls"), "\nranked by elapsed time")
        self.assertRegex(self.ask("calls", "--by", "instructions"), "\nranked by instructions\n")
        for parent in {row["parent"] for row in answer["rows"] if row["depth"] > 1}:
            below = [row["total_time"] + row["total_paused"] for row in answer["rows"] if row["parent"] == parent]
            # Each of the two sums has two times that were rounded down, so the smaller one may have more ticks.
            self.assertTrue(all(one >= next_one - 1 for one, next_one in zip(below, below[1:])), below)

    def test_a_server_shows_what_it_was_told(self):
        identity = self.identity()
        with Server(arguments=["--source-dir", f"{COMPILED_AS}={SOURCES}"]) as server:
            cli("snapshot", "push", identity, "--url", f"http://{server.http}", check=0, env=self.env)
            view = f"/api/v1/snapshots/{identity}/view"
            rows = server.ask(f"{view}/insns", {"thread": server.ask(view)["thread"], "row": 0, "count": 200})["rows"]
            at = next(row["inlined_at"] for row in rows if row.get("inlined_at", {}).get("line") == WAITS_AT)
            text = server.ask(f"{view}/source", {"file": at["file"], "line": at["line"], "context": 2})
            self.assertEqual((text["first_line"], text["lines"][2].strip()), (WAITS_AT - 2, WAITS_TEXT))
            header = next(row for row in rows if "inlined_at" in row)
            nowhere = server.ask(f"{view}/source", {"file": header["file"], "line": header["line"]})
            self.assertEqual(nowhere["lines"], [])
            self.assertIn("--source-dir", nowhere["missing"])
            # The program has no line of the file beside it.
            beside = server.ask(f"{view}/source", {"file": "/made/programs/event_crashes.cc", "line": 1})
            self.assertTrue((SOURCES / "event_crashes.cc").exists())
            self.assertEqual(beside["lines"], [])
            self.assertIn("no line of this snapshot is of", beside["missing"])

    def identity(self):
        return json.loads(cli("snapshot", "list", "--format", "json", check=0, env=self.env).stdout)[0]["snapshot_id"]


if __name__ == "__main__":
    main()
