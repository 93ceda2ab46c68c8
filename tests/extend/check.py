#!/usr/bin/env python3
"""Applies the example patches of docs/adding-a-source.md and docs/adding-a-trigger.md to a copy of the tree, builds the
agent and its tests, and runs the tests of the examples.

    tests/extend/check.py [--jobs N]

The copy is build/extend; files that did not change keep their times, so that the next run compiles little. Prints
'N passed, N failed' at the end, and fails if any failed or a patch grew beyond its bound of files.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPY = ROOT / "build/extend"
# By patch: how many files it may touch, and the tests that it brings.
PATCHES = {"source": (10, "ResidentMemory.*"), "trigger": (6, "StartTriggerTest.*")}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def tracked_files(tree):
    listed = run("git", "-C", tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard", capture_output=True)
    return [name for name in listed.stdout.decode().split("\0") if name and (tree / name).is_file()]


def patch_file(name):
    return ROOT / f"tests/extend/{name}.patch"


def files_of(name):
    return len(re.findall(r"^diff --git ", patch_file(name).read_text(encoding="utf-8"), re.MULTILINE))


def copy_file(source, target):
    content = source.read_bytes()
    if target.is_file() and target.read_bytes() == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    target.chmod(source.stat().st_mode)


def patched_tree(directory):
    """A fresh copy with all patches, from which COPY is brought up to date."""
    tree = pathlib.Path(directory)
    for name in tracked_files(ROOT):
        copy_file(ROOT / name, tree / name)
    for name in PATCHES:
        run("git", "apply", "--whitespace=nowarn", patch_file(name), cwd=tree)
    return tree


def update_copy():
    with tempfile.TemporaryDirectory(prefix="fathom-extend-") as directory:
        tree = patched_tree(directory)
        wanted = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
        for name in wanted:
            copy_file(tree / name, COPY / name)
    for path in list(COPY.rglob("*")):
        name = path.relative_to(COPY)
        if path.is_file() and name.parts[0] != "build" and str(name) not in wanted:
            path.unlink()


def build(jobs):
    environment = dict(os.environ, CCACHE_BASEDIR=str(COPY), CCACHE_NOHASHDIR="1")
    run("cmake", "--preset", "release", cwd=COPY, env=environment, stdout=subprocess.DEVNULL)
    run("ninja", "-C", COPY / "build/release", "-j", jobs, "node-agent_tests", "fathom-agent", env=environment)


def example_tests_pass(tests):
    program = COPY / "build/release/bin/node-agent_tests"
    outcome = subprocess.run([program, f"--gtest_filter={tests}"], capture_output=True, text=True, check=False)
    if outcome.returncode == 0 and re.search(r"\[  PASSED  \] [1-9]", outcome.stdout):
        return True
    print(outcome.stdout + outcome.stderr)
    return False


def source_is_listed():
    program = COPY / "build/release/bin/fathom-agent"
    said = run(program, "--print-sources", capture_output=True, text=True).stdout
    return any(line["name"] == "resident memory" for line in json.loads(said))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    update_copy()
    build(arguments.jobs)
    results = {}
    for name, (most_files, tests) in PATCHES.items():
        results[f"{name}.patch touches {files_of(name)} files, at most {most_files}"] = files_of(name) <= most_files
        results[f"{name}.patch: its tests pass"] = example_tests_pass(tests)
    results["fathom-agent --print-sources lists the example"] = source_is_listed()
    for what, passed in results.items():
        print(f"{'ok  ' if passed else 'FAIL'} {what}")
    print(f"{sum(results.values())} passed, {len(results) - sum(results.values())} failed")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
