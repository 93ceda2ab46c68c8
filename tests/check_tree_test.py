"""cmake/check_tree.py finds each kind of fault that it is there for, and is silent about a good tree."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from harness.main import main
from harness.server import ROOT

GOOD = {
    "README.md": "# A title\n\n## A second one\n\n[code](a.cc), [above](#a-second-one), [web](https://example.com)\n",
    "a.cc": "int a;\n" * 500,
    "run": "#!/bin/bash\necho fine\n",
}


class CheckTree(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.addCleanup(directory.cleanup)
        self.tree = pathlib.Path(directory.name)
        subprocess.run(["git", "init", "-q", str(self.tree)], check=True)
        for name, text in GOOD.items():
            (self.tree / name).write_text(text, encoding="utf-8")

    def check(self):
        command = [sys.executable, "-B", str(ROOT / "cmake/check_tree.py")]
        return subprocess.run(command, cwd=self.tree, capture_output=True, text=True, check=False)

    def finds(self, name, text, words):
        (self.tree / name).write_text(text, encoding="utf-8")
        outcome = self.check()
        self.assertEqual(outcome.returncode, 1, outcome.stdout + outcome.stderr)
        self.assertEqual(outcome.stdout.count("\n"), 1, outcome.stdout)
        self.assertIn(f"{name}:", outcome.stdout)
        self.assertIn(words, outcome.stdout)

    def test_a_good_tree_is_fine(self):
        outcome = self.check()
        self.assertEqual((outcome.returncode, outcome.stdout), (0, ""), outcome.stderr)

    def test_long_files(self):
        self.finds("b.cc", "int b;\n" * 501, "501 lines")

    def test_white_space(self):
        self.finds("b.h", "int b; \n", "b.h:1: white space")

    def test_missing_newline(self):
        self.finds("b.h", "int b;", "no newline")

    def test_scripts_that_do_not_parse(self):
        self.finds("go", "#!/bin/bash\nif true; then\n", "syntax error")
        (self.tree / "go").unlink()
        self.finds("b.py", "def :\n", "invalid syntax")

    def test_patches_that_do_not_apply(self):
        patch = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-{}\n+new\n"
        (self.tree / "b.txt").write_text("old\n", encoding="utf-8")
        (self.tree / "b.patch").write_text(patch.format("old"), encoding="utf-8")
        self.assertEqual(self.check().returncode, 0)
        self.finds("b.patch", patch.format("other"), "does not apply")

    def test_dead_links(self):
        self.finds("b.md", "see [this](nowhere.cc)\n", "leads nowhere: nowhere.cc")

    def test_dead_anchors(self):
        self.finds("b.md", "see [this](README.md#a-third-one)\n", "no such heading")

    def test_links_in_code_are_no_links(self):
        (self.tree / "b.md").write_text("```\n[this](nowhere.cc)\n```\n", encoding="utf-8")
        self.assertEqual(self.check().returncode, 0)

    def test_paths_of_one_machine(self):
        self.finds("b.md", "it is in /" + "home/eve/fathom\n", "a path of one machine")

    def test_registry_hosts(self):
        self.finds("package-lock.json", '{"resolved": "https' + '://registry.example/a.tgz"}\n', "a registry's host")


if __name__ == "__main__":
    main()
