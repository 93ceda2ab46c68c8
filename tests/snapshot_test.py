"""Snapshots as people use them: import a stream with its code, ask everything about it, take it away again."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from harness import pt, shared_data
from harness.main import main
from harness.server import BIN, FATHOM, cli

OK, NOTHING_FOUND, USAGE, LOCAL_FAILURE = 0, 1, 2, 5
CALLS = 60_000
QUESTIONS = ("calls", "functions", "insns", "syscalls", "sunburst", "stats")


class Directory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="fathom-snapshot-")))
        cls.env = {"FATHOM_SNAPSHOTS": str(cls.path / "snapshots")}
        (cls.path / "code.bin").write_bytes(pt.CODE)

    @classmethod
    def run_fathom(cls, *words, check=OK):
        return cli("snapshot", *map(str, words), check=check, env=cls.env)

    @classmethod
    def import_calls(cls, calls):
        packets, instructions = pt.stream(calls)
        stream = cls.path / "stream.pt"
        stream.write_bytes(packets)
        outcome = cls.run_fathom("import", "--pt", stream, "--cpu", "6/142/10", "--image", f"{cls.path}/code.bin@{pt.BASE:x}")
        return json.loads(outcome.stdout)["snapshot_id"], instructions


class Help(Directory):
    def test_help_teaches(self):
        text = self.run_fathom("--help").stdout
        for command in (*QUESTIONS, "delta", "diff", "import", "list", "export", "remove"):
            self.assertIn(command, text)
            self.assertIn(f"fathom snapshot {command}: ", self.run_fathom(command, "--help").stdout)

    def test_wrong_words(self):
        self.assertIn("calls", self.run_fathom("cals", check=USAGE).stderr)
        self.assertIn("--limit", self.run_fathom("calls", "last", "--limt", "1", check=USAGE).stderr)
        self.assertIn("missing ID", self.run_fathom("calls", check=USAGE).stderr)
        self.assertIn("--pt", self.run_fathom("import", check=USAGE).stderr)
        self.assertIn("--pprof", self.run_fathom("export", "last", check=USAGE).stderr)


class Import(Directory):
    def test_what_cannot_be_imported_says_the_cure(self):
        stream = self.path / "some.pt"
        stream.write_bytes(pt.stream(6)[0])
        code = self.path / "code.bin"
        self.assertIn("perf record -e intel_pt//", self.run_fathom("import", stream, check=USAGE).stderr)
        self.assertIn("@HEXBASE", self.run_fathom("import", "--pt", stream, "--image", code, check=USAGE).stderr)
        self.assertIn("FAMILY/MODEL/STEPPING", self.run_fathom("import", "--pt", stream, "--cpu", "6", check=USAGE).stderr)
        self.assertIn("No such file", self.run_fathom("import", self.path / "absent", check=LOCAL_FAILURE).stderr)

    def test_a_perf_data_of_real_hardware(self):
        data = shared_data.find_perf_data()
        if data is None:
            self.skipTest("no perf.data.intel_pt-4.14; $FATHOM_PERF_DATA says where it is")
        outcome = self.run_fathom("import", data)
        self.assertIn("images are missing", outcome.stderr)
        self.assertRegex(outcome.stdout, r'^{"snapshot_id":"[0-9a-f]{32}"}\n$')


class Questions(Directory):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.id, cls.instructions = cls.import_calls(CALLS)

    def test_the_list(self):
        self.assertIn(self.id, self.run_fathom("list").stdout)
        rows = json.loads(self.run_fathom("list", "--format", "json").stdout)
        row = next(row for row in rows if row["snapshot_id"] == self.id)
        self.assertEqual((row["from"], row["images"], row["images_missing"]), ("raw stream", 1, 0))

    def test_every_instruction_and_no_gap(self):
        self.assertEqual(self.run_fathom("insns", self.id, "--count").stdout.split(), [str(self.instructions), "0"])
        lines = self.run_fathom("insns", self.id[:6], "--limit", 8).stdout
        for word in ("call", "nop", "ret", "jmp"):
            self.assertIn(word, lines)

    def test_every_question_in_every_form(self):
        for verb in QUESTIONS:
            with self.subTest(verb=verb):
                self.assertTrue(self.run_fathom(verb, self.id, "--limit", 100).stdout)
                json.loads(self.run_fathom(verb, self.id, "--limit", 100, "--format", "json").stdout)
                picture = self.path / f"{verb}.svg"
                self.run_fathom(verb, self.id, "--limit", 100, "-o", picture)
                self.assertIn("<svg", picture.read_text(encoding="utf-8"))

    def test_from_one_instruction_to_another(self):
        for form in ("table", "json", "svg"):
            answer = self.run_fathom("delta", self.id, "--from", hex(pt.BASE), "--to", hex(pt.AGAIN), "--format", form)
            self.assertTrue(answer.stdout)

    def test_two_executions(self):
        other, _ = self.import_calls(CALLS // 2)
        for form in ("table", "json", "svg"):
            self.assertTrue(self.run_fathom("diff", self.id, other, "--format", form).stdout)

    def test_exports(self):
        for form in ("perfetto", "pprof"):
            file = self.path / form
            self.run_fathom("export", self.id, f"--{form}", file)
            self.assertGreater(file.stat().st_size, 0)

    def test_an_answer_is_the_same_from_the_cache(self):
        first = self.run_fathom("calls", self.id).stdout
        self.assertEqual(self.run_fathom("calls", self.id).stdout, first)
        self.assertEqual(self.run_fathom("calls", self.id, "--no-cache").stdout, first)

    def test_a_reader_that_goes_away_is_no_fault(self):
        with subprocess.Popen([FATHOM, "snapshot", "insns", self.id, "--no-cache"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, **self.env}) as process:
            process.stdout.read(100)
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(process.wait(120), OK)


class Limits(Directory):
    def test_memory_is_bounded(self):
        if os.environ.get("FATHOM_SANITIZED"):
            self.skipTest("sanitizers need more memory than any limit")
        large = self.path / "large"
        large.write_bytes(pt.stream(6)[0] * 2_000_000)  # more than the limit
        worker = [str(BIN / "fathom-worker"), "--directory", self.env["FATHOM_SNAPSHOTS"], "--memory-mib", "64"]
        subprocess.run([*worker, "import", "--pt", str(large)], check=True, capture_output=True, timeout=120)


class Removal(Directory):
    def test_removed_is_gone(self):
        snapshot, _ = self.import_calls(600)
        self.assertIn(snapshot, self.run_fathom("remove", snapshot[:8]).stderr)
        self.assertIn("fathom snapshot list", self.run_fathom("calls", snapshot, check=NOTHING_FOUND).stderr)
        self.assertNotIn(snapshot, self.run_fathom("list").stdout)


if __name__ == "__main__":
    main()
