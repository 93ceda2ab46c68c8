"""How long building and testing take, from clean clones with caches of their own: ./dev bench build [--json FILE]

The last commit is built; changes that are not committed are not. Debian's packages must be installed and npm's be in its
cache (`./dev check` sees to both). All steps together take about two hours on two processors; --steps chooses.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

import header_cost
import ninja_log

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MOST_EXPENSIVE = 10
STEPS = {
    "demo": "./dev demo --once with an empty ccache, until it shows the slowest requests",
    "ci": ".ci/run with empty caches",
    "ci-warm": ".ci/run of another clone, after one .cc of store has changed",
    "ci-warm-header": "the same after store/span_store.h has changed",
    "file": "one .cc of store has changed: its tests are built",
    "header": "store/span_store.h has changed: ./dev build",
    "headers": "which headers cost the most, by clang's -ftime-trace",
}
BOUNDS = {
    "build.demo_cold_min": 8,
    "build.ci_cold_min": 50,
    "build.ci_cold_tidy_min": 12,
    "build.ci_cold_release_min": 12,
    "build.ci_cold_asan_min": 16,
    "build.ci_cold_tests_min": 10,
    "build.ci_warm_min": 22,
    "build.ci_warm_header_min": 30,
    "build.one_file_s": 20,
    "build.header_s": 180,
}
SOURCE, HEADER = "store/batch.cc", "store/span_store.h"


class Failed(Exception):
    """A step whose command failed."""


class Bench:
    """Clones, caches and figures of one run. Caches are shared by its clones, and with nobody else."""

    def __init__(self, work):
        self.work = pathlib.Path(work)
        self.figures = {}
        self.details = {}
        self.edits = 0
        self.environment = {**os.environ, "CCACHE_DIR": str(self.work / "ccache"), "XDG_CACHE_HOME": str(self.work / "cache")}

    def clone(self, name):
        shutil.rmtree(self.work / name, ignore_errors=True)
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.work / name)], check=True)
        return self.work / name

    def empty_caches(self):
        for name in ("ccache", "cache"):
            shutil.rmtree(self.work / name, ignore_errors=True)

    def run(self, what, command, folder):
        """The command's seconds; its output goes to a file that is named when it fails."""
        log = self.work / f"{what}.log"
        print(f"-- {what}: {' '.join(command)}", file=sys.stderr, flush=True)
        started = time.monotonic()
        with open(log, "wb") as output:
            status = subprocess.run(command, cwd=folder, env=self.environment, stdout=output, stderr=output,
                                    stdin=subprocess.DEVNULL, check=False).returncode
        seconds = time.monotonic() - started
        if status != 0:
            tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
            raise Failed(f"{what} ended with status {status}:\n" + "\n".join(tail))
        return seconds

    def change(self, folder, name):
        """Adds a declaration: a comment alone would be served from ccache."""
        self.edits += 1
        with open(folder / name, "a", encoding="utf-8") as file:
            file.write(f"\nnamespace fathom::store {{\ninline constexpr int kChangedByTheBenchmark{self.edits} = 0;\n}}\n")

    def add(self, key, value):
        self.figures[key] = round(value, 2)
        bound = BOUNDS.get(key)
        verdict = "" if bound is None else f"  (<= {bound})" if value <= bound else f"  MISSED (<= {bound})"
        print(f"{key:<42}{value:>9.1f}{verdict}", flush=True)

    def add_detail(self, key, value):
        self.details[key] = round(value, 2)


# ---- steps -------------------------------------------------------------------------------------------------------------


def demo(bench):
    bench.empty_caches()
    folder = bench.clone("demo")
    bench.add("build.demo_cold_min", bench.run("demo", ["./dev", "demo", "--once"], folder) / 60)
    add_build(bench, "demo", folder / "build/release")


def ci(bench):
    bench.empty_caches()
    run_ci(bench, "ci_cold", bench.clone("ci"))


def ci_warm(bench):
    folder = bench.clone("ci")
    bench.change(folder, SOURCE)
    run_ci(bench, "ci_warm", folder)


def ci_warm_header(bench):
    folder = bench.clone("ci")
    bench.change(folder, HEADER)
    run_ci(bench, "ci_warm_header", folder)


def one_file(bench):
    folder = built(bench)
    bench.change(folder, SOURCE)
    bench.add("build.one_file_s", bench.run("file", ["ninja", "-C", "build/release", "store_tests"], folder))


def header(bench):
    folder = built(bench)
    bench.change(folder, HEADER)
    bench.add("build.header_s", bench.run("header", ["./dev", "build"], folder))


def headers(bench):
    folder = bench.clone("headers")
    bench.run("headers", ["cmake", "--preset", "asan"], folder)
    bench.run("headers", ["ninja", "-C", "build/asan", "generated_code"], folder)
    print("the most expensive headers (seconds in all, translation units)")
    for seconds, units, name in header_cost.costs(folder / "build/asan", os.cpu_count())[:MOST_EXPENSIVE]:
        name = name.replace(f"{folder}/", "")
        print(f"{name[-60:]:<62}{seconds:>8.1f}{units:>6}")
        bench.add_detail(f"header_s {name}", seconds)


# ---- what steps share --------------------------------------------------------------------------------------------------


def built(bench):
    """A clone whose release build is up to date."""
    folder = bench.work / "ci"
    if not (folder / "build/release/build.ninja").exists():
        folder = bench.clone("ci")
    bench.run("build", ["./dev", "build"], folder)
    return folder


def run_ci(bench, key, folder):
    bench.add(f"build.{key}_min", bench.run(key, ["bash", ".ci/run"], folder) / 60)
    phases = dict(line.split("\t") for line in (folder / "build/phases.tsv").read_text(encoding="utf-8").splitlines())
    minutes = {name: float(seconds) / 60 for name, seconds in phases.items()}
    for name, value in minutes.items():
        bench.add_detail(f"{key} {name} min", value)
        print(f"  {name:<40}{value:>9.1f} min")
    bench.add(f"build.{key}_tidy_min", minutes["clang-tidy"])
    bench.add(f"build.{key}_release_min", minutes["build release"])
    bench.add(f"build.{key}_asan_min", minutes["build asan"])
    bench.add(f"build.{key}_tests_min", minutes["test release"] + minutes["test asan"])
    for preset in ("release", "asan"):
        add_build(bench, f"{key} {preset}", folder / "build" / preset)
        add_tests(bench, f"{key} {preset}", folder / "build" / preset / "ctest.xml")


def add_build(bench, what, build):
    """By folder, and the most expensive translation units; steps that run side by side both count."""
    steps = ninja_log.steps_of(build)
    print(f"{what}: seconds of its steps")
    for (kind, folder), seconds in ninja_log.by_folder(steps).most_common():
        bench.add_detail(f"{what} {kind} {folder} s", seconds)
        print(f"  {kind + ' ' + folder:<40}{seconds:>9.1f}")
    print(f"{what}: the most expensive translation units")
    for seconds, output in ninja_log.most_expensive(steps, MOST_EXPENSIVE):
        print(f"  {output[-70:]:<72}{seconds:>7.1f}")


def add_tests(bench, what, report):
    if not report.exists():
        return
    cases = xml.etree.ElementTree.parse(report).iter("testcase")
    times = sorted(((float(case.get("time")), case.get("name")) for case in cases), reverse=True)
    for seconds, name in times:
        bench.add_detail(f"{what} test {name} s", seconds)
    print(f"{what}: the slowest tests")
    for seconds, name in times[:MOST_EXPENSIVE]:
        print(f"  {name:<40}{seconds:>9.1f}")


# ---- the program -------------------------------------------------------------------------------------------------------


RUN = {"demo": demo, "ci": ci, "ci-warm": ci_warm, "ci-warm-header": ci_warm_header, "file": one_file, "header": header,
       "headers": headers}


def arguments():
    steps = "\n".join(f"  {name:<16}{what}" for name, what in STEPS.items())
    parser = argparse.ArgumentParser(prog="./dev bench build", description=__doc__, epilog=f"steps:\n{steps}",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--steps", default=",".join(STEPS), metavar="A,B", help="which steps, in this order (default all)")
    parser.add_argument("--work-dir", metavar="DIR", help="where clones and caches go (default: a temporary directory, removed)")
    options = parser.parse_args()
    options.steps = options.steps.split(",")
    unknown = [step for step in options.steps if step not in STEPS]
    if unknown:
        parser.error(f"no step {unknown[0]}; the steps are {', '.join(STEPS)}")
    return options


def machine():
    return f"{os.cpu_count()} processors, {platform.machine()}, Linux {platform.release()}"


def write_json(path, bench, failed):
    document = {"bench": "build", "machine": machine(), "command": " ".join(["./dev bench build", *sys.argv[1:]]),
                "figures": bench.figures, "details": bench.details, "not_measured": failed}
    pathlib.Path(path).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def main():
    options = arguments()
    if subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT, check=False).returncode != 0:
        print("note: changes that are not committed are not measured", file=sys.stderr)
    failed = {}
    with tempfile.TemporaryDirectory(prefix="fathom-bench-build-") as temporary:
        # A folder of its own: what lies beside it is not removed.
        bench = Bench(pathlib.Path(options.work_dir or temporary, "fathom-bench-build"))
        bench.work.mkdir(parents=True, exist_ok=True)
        for step in options.steps:
            try:
                RUN[step](bench)
            except Failed as failure:
                failed[step] = str(failure)
                print(f"NOT MEASURED {step}: {failure}", flush=True)
        if options.json:
            write_json(options.json, bench, failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
