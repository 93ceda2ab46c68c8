"""Runs the tests of a build for coverage and prints the line coverage of each folder: coverage.py BUILD_DIR [-j SLOTS]

The build uses Clang's source-based coverage (the preset `coverage`). Programs map the files of their counters into memory,
so the counts of killed programs are kept. Lines of tests, fuzz targets, generated code and benchmarks do not count. ctest
reports a failed test; the run goes on.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess

EXCLUDED = re.compile(r"_(test|fuzz)\.cc$|/testing/|/programs/|^(tests|bench|build|examples)/")


def arguments():
    parser = argparse.ArgumentParser(description="Prints the line coverage of the tests by folder.")
    parser.add_argument("build", type=pathlib.Path, help="a build with Clang's source-based coverage")
    parser.add_argument("-j", dest="slots", type=int, default=1, help="ctest's slots (default 1)")
    return parser.parse_args()


def run_tests(build, profiles, slots):
    shutil.rmtree(profiles, ignore_errors=True)
    profiles.mkdir(parents=True)
    environment = dict(os.environ, LLVM_PROFILE_FILE=f"{profiles}/%m%c.profraw")
    subprocess.run(["ctest", "--test-dir", build, "-j", str(slots), "--output-junit", build / "ctest.xml"], env=environment,
                   check=False)


def programs_of(build):
    return sorted(path for path in (build / "bin").iterdir() if path.is_file() and os.access(path, os.X_OK))


def export(build, profiles):
    """What llvm-cov says of each source: path -> (lines covered, lines)."""
    merged = profiles / "merged.profdata"
    subprocess.run(["llvm-profdata-16", "merge", "-o", merged, *sorted(profiles.glob("*.profraw"))], check=True)
    first, *others = programs_of(build)
    command = ["llvm-cov-16", "export", "-summary-only", f"-instr-profile={merged}", first]
    for program in others:
        command += ["-object", program]
    data = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["data"][0]
    return {file["filename"]: (file["summary"]["lines"]["covered"], file["summary"]["lines"]["count"]) for file in data["files"]}


def source_root(build):
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    return pathlib.Path(re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.MULTILINE)[1])


def by_folder(files, root):
    folders = collections.defaultdict(lambda: [0, 0])
    for name, (covered, lines) in files.items():
        path = pathlib.Path(name)
        if not path.is_relative_to(root) or EXCLUDED.search(str(path.relative_to(root))):
            continue
        for folder in (path.relative_to(root).parts[0], "together"):
            folders[folder][0] += covered
            folders[folder][1] += lines
    return folders


def main():
    options = arguments()
    build = options.build.resolve()
    profiles = build / "profiles"
    run_tests(build, profiles, options.slots)
    print(f"{'folder':12} {'lines':>8} {'covered':>8} {'percent':>8}")
    for folder, (covered, lines) in sorted(by_folder(export(build, profiles), source_root(build)).items()):
        print(f"{folder:12} {lines:8} {covered:8} {100 * covered / lines:8.2f}")


if __name__ == "__main__":
    main()
