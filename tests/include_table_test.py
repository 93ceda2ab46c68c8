"""The include table is enforced: a forbidden edge, by whatever spelling, fails the configuration and names the file."""

import pathlib
import subprocess
import tempfile
import unittest

from harness.main import main
from harness.server import ROOT

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(tree LANGUAGES CXX)
find_package(Threads REQUIRED)
include({module})
add_subdirectory(base)
add_subdirectory(proto)
add_subdirectory(net)
add_subdirectory(store)
"""


class IncludeTable(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="fathom-test-")
        self.addCleanup(directory.cleanup)
        self.tree = pathlib.Path(directory.name)
        self.put("CMakeLists.txt", PROJECT.format(module=ROOT / "cmake/module.cmake"))
        for folder in ("base", "proto", "net", "store"):
            self.put(f"{folder}/CMakeLists.txt", f"fathom_module({folder})\n")
            self.put(f"{folder}/one.h", "#pragma once\n")
            self.put(f"{folder}/one.cc", f'#include "{folder}/one.h"\n')

    def put(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def configure(self):
        command = ["cmake", "-G", "Ninja", "-S", str(self.tree), "-B", str(self.tree / "build")]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def refused(self, name, text, words):
        self.put(name, text)
        outcome = self.configure()
        said = " ".join(outcome.stderr.split())
        self.assertNotEqual(outcome.returncode, 0, f"{text!r} in {name} was let through")
        self.assertIn(words, said)
        self.assertIn(name.rpartition("/")[2], said)

    def test_allowed_edges_configure(self):
        self.put("store/two.cc", '#include "base/one.h"\n#include "store/one.h"\n#include <rocksdb/db.h>\n')
        self.put("net/two.cc", '#include <net/if.h>\n#include "base/one.h"\n')
        outcome = self.configure()
        self.assertEqual(outcome.returncode, 0, outcome.stderr)

    def test_a_forbidden_folder_is_refused(self):
        self.refused("base/two.cc", '#include "store/one.h"\n', "base/ may not include store/")

    def test_a_part_of_a_folder_may_be_open_to_another(self):
        (self.tree / "CMakeLists.txt").write_text(PROJECT.format(module=ROOT / "cmake/module.cmake") +
                                                  "add_subdirectory(node-agent)\n", encoding="utf-8")
        self.put("client/pool/layout.h", "#pragma once\n")
        self.put("client/chunks.h", "#pragma once\n")
        self.put("node-agent/CMakeLists.txt", "fathom_module(node-agent)\n")
        self.put("node-agent/one.cc", '#include "client/pool/layout.h"\n')
        outcome = self.configure()
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.refused("node-agent/two.cc", '#include "client/chunks.h"\n', "node-agent/ may not include client/")
        (self.tree / "node-agent/two.cc").unlink()
        self.refused("net/two.cc", '#include "client/pool/layout.h"\n', "net/ may not include client/")

    def test_a_traced_program_gets_nothing_of_ours_but_base(self):
        (self.tree / "CMakeLists.txt").write_text(PROJECT.format(module=ROOT / "cmake/module.cmake") +
                                                  "add_subdirectory(client)\n", encoding="utf-8")
        self.put("client/CMakeLists.txt", "file(GLOB sources *.cc)\nfathom_check_includes(client ${sources})\n")
        self.put("client/one.cc", '#include "base/one.h"\n')
        outcome = self.configure()
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.refused("client/two.cc", '#include "proto/one.h"\n', "client/ may not include proto/")

    def test_headers_and_tests_are_checked_too(self):
        self.refused("net/two.h", '  #  include "store/one.h"\n', "net/ may not include store/")
        (self.tree / "net/two.h").unlink()
        self.refused("net/two_test.cc", '#include "store/one.h"\n', "net/ may not include store/")

    def test_angle_brackets_are_no_way_around(self):
        self.refused("base/two.cc", "#include <net/one.h>\n", "base/ may not include net/")

    def test_relative_paths_are_no_way_around(self):
        self.refused("base/two.cc", '#include "../store/one.h"\n', "written from the root")

    def test_fenced_headers_stay_in_their_folder(self):
        self.refused("net/two.cc", "#include <rocksdb/db.h>\n", "fenced into store/")
        self.refused("net/two.cc", '#include "rocksdb/db.h"\n', "fenced into store/")

    def test_a_configured_tree_refuses_a_later_edge_when_it_builds(self):
        self.assertEqual(self.configure().returncode, 0)
        self.put("base/one.cc", '#include "store/one.h"\n')
        outcome = subprocess.run(["cmake", "--build", str(self.tree / "build")], capture_output=True, text=True, check=False)
        self.assertNotEqual(outcome.returncode, 0)
        self.assertIn("base/ may not include store/", " ".join((outcome.stdout + outcome.stderr).split()))


if __name__ == "__main__":
    main()
