"""Measures how long building and testing take, in clean clones with caches of their own.

It builds the last commit, without uncommitted changes. All steps take about 100 minutes on two processors. What they install
counts as their time: let `./dev test` run once before, for Debian's packages and npm's cache.
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

import header_cost
import ninja_log

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "cmake"))
import ci_results  # noqa: E402: it is in cmake/
MOST_EXPENSIVE = 10
BOUNDS = {
    "build.demo_cold_min": 8,
    "build.ci_cold_min": 50,
    "build.ci_cold_tidy_min": ci_results.TIDY_MINUTES,
    "build.ci_cold_release_min": ci_results.RELEASE_MINUTES,
    "build.ci_cold_asan_min": ci_results.SANITIZERS_MINUTES,
    "build.ci_cold_tests_min": ci_results.TESTS_MINUTES,
    "build.ci_warm_min": 22,
    "build.ci_warm_header_min": 30,
    "build.one_file_s": 20,
    "build.header_s": 180,
}
FIGURES_OF_PHASES = {"tidy": ["clang-tidy"], "release": ["build release"], "asan": ["build asan"],
                     "tests": ["test release", "test asan"]}
SOURCE, HEADER = "store/batch.cc", "store/span_store.h"
ENDING = """
ci-warm and ci-warm-header need the caches of ci: let it run before them, or give the --work-dir of a run that had it. A
figure beyond its bound is marked MISSED. The status is 1 when a step failed, which is marked NOT MEASURED, and 0 otherwise.
"""


class StepFailed(Exception):
    """A step whose command failed."""


class Bench:
    """Clones, caches and figures of one run. Caches are shared by its clones, and with nobody else."""

    def __init__(self, work):
        self.work = pathlib.Path(work)
        self.figures = {}
        self.details = {}
        self.built = None
        self.environment = {**os.environ, "CCACHE_DIR": str(self.work / "ccache"), "XDG_CACHE_HOME": str(self.work / "cache")}

    def clone(self, name):
        shutil.rmtree(self.work / name, ignore_errors=True)
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.work / name)], check=True)
        return self.work / name

    def empty_caches(self):
        for name in ("ccache", "cache"):
            shutil.rmtree(self.work / name, ignore_errors=True)

    def run_timed(self, what, command, folder):
        """Returns the command's seconds. Its output goes to a log file; a failure reports the last lines of it."""
        log = self.work / f"{what}.log"
        print(f"-- {what}: {' '.join(command)}", file=sys.stderr, flush=True)
        started = time.monotonic()
        with open(log, "wb") as output:
            status = subprocess.run(command, cwd=folder, env=self.environment, stdout=output, stderr=output,
                                    stdin=subprocess.DEVNULL, check=False).returncode
        seconds = time.monotonic() - started
        if status != 0:
            tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
            raise StepFailed(f"{what} ended with status {status}:\n" + "\n".join(tail))
        return seconds

    def add_declaration(self, folder, name):
        """Adds a declaration, because ccache would still hit if only a comment changed."""
        with open(folder / name, "a", encoding="utf-8") as file:
            file.write(f"\nnamespace fathom::store {{\ninline constexpr int kChangedByBenchmark{time.time_ns()} = 0;\n}}\n")

    def add_figure(self, key, value):
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
    bench.add_figure("build.demo_cold_min", bench.run_timed("demo", ["./dev", "demo", "--once"], folder) / 60)
    add_build(bench, "demo", folder / "build/release")


def ci(bench):
    bench.empty_caches()
    run_ci(bench, "ci_cold", bench.clone("ci"))


def ci_warm(bench):
    folder = clone_with_caches(bench)
    bench.add_declaration(folder, SOURCE)
    run_ci(bench, "ci_warm", folder)


def ci_warm_header(bench):
    folder = clone_with_caches(bench)
    bench.add_declaration(folder, HEADER)
    run_ci(bench, "ci_warm_header", folder)


def one_file(bench):
    folder = built(bench)
    bench.add_declaration(folder, SOURCE)
    bench.add_figure("build.one_file_s", bench.run_timed("file", ["ninja", "-C", "build/release", "store_tests"], folder))


def header(bench):
    folder = built(bench)
    bench.add_declaration(folder, HEADER)
    bench.add_figure("build.header_s", bench.run_timed("header", ["./dev", "build"], folder))


def header_costs(bench):
    folder = bench.clone("header-costs")
    bench.run_timed("header-costs", ["cmake", "--preset", "asan"], folder)
    bench.run_timed("header-costs", ["ninja", "-C", "build/asan", "generated_code"], folder)
    print("the most expensive headers (seconds in all, translation units)")
    for seconds, units, name in header_cost.costs(folder / "build/asan", os.cpu_count())[:MOST_EXPENSIVE]:
        name = name.replace(f"{folder}/", "")
        print(f"{name[-60:]:<62}{seconds:>8.1f}{units:>6}")
        bench.add_detail(f"header_s {name}", seconds)


# ---- what steps share --------------------------------------------------------------------------------------------------


def clone_with_caches(bench):
    """A new clone for a run with the caches of the step ci."""
    if not (bench.work / "cache/fathom-tidy").exists():
        raise StepFailed("the caches are empty; let the step ci come first: --steps ci,ci-warm,ci-warm-header")
    return bench.clone("ci")


def built(bench):
    """A clone whose release build is up to date."""
    if not bench.built:
        bench.built = bench.clone("built")
    bench.run_timed("build", ["./dev", "build"], bench.built)
    return bench.built


def run_ci(bench, key, folder):
    try:
        bench.add_figure(f"build.{key}_min", bench.run_timed(key, ["bash", ".ci/run"], folder) / 60)
    finally:
        report_ci(bench, key, folder)  # a run with a failed test has phases, too


def report_ci(bench, key, folder):
    minutes = {name: seconds / 60 for name, seconds in ci_results.phases_of(folder / "build/phases.tsv").items()}
    for name, value in minutes.items():
        bench.add_detail(f"{key} {name} min", value)
        print(f"  {name:<40}{value:>9.1f} min")
    for name, phases in FIGURES_OF_PHASES.items():
        if all(phase in minutes for phase in phases):
            bench.add_figure(f"build.{key}_{name}_min", sum(minutes[phase] for phase in phases))
    for preset in ("release", "asan"):
        if (folder / "build" / preset / ".ninja_log").exists():
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
        bench.add_detail(f"{what} unit {output} s", seconds)
        print(f"  {output[-70:]:<72}{seconds:>7.1f}")


def add_tests(bench, what, report):
    if not report.exists():
        return
    times = ci_results.test_seconds(report)
    for seconds, name in times:
        bench.add_detail(f"{what} test {name} s", seconds)
    print(f"{what}: the slowest tests")
    for seconds, name in times[:MOST_EXPENSIVE]:
        print(f"  {name:<40}{seconds:>9.1f}")


# ---- the program -------------------------------------------------------------------------------------------------------


STEPS = {
    "demo": (demo, "./dev demo --once with an empty ccache, from its start to its end"),
    "ci": (ci, ".ci/run with empty caches; its phases, too"),
    "ci-warm": (ci_warm, ".ci/run in a new clone with the caches of `ci`, after a change to one .cc of store"),
    "ci-warm-header": (ci_warm_header, "the same after a change to store/span_store.h"),
    "file": (one_file, "seconds to rebuild store's tests after a change to one .cc of store"),
    "header": (header, "seconds of ./dev build after a change to store/span_store.h"),
    "header-costs": (header_costs, "the most expensive headers, by clang's -ftime-trace"),
}


def arguments():
    steps = "\n".join(f"  {name:<16}{what}" for name, (_, what) in STEPS.items())
    parser = argparse.ArgumentParser(prog="./dev bench build", description=__doc__, epilog=f"steps (minutes, unless said):\n{steps}\n{ENDING}",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--steps", default=",".join(STEPS), metavar="A,B", help="which steps, in this order (default all)")
    parser.add_argument("--work-dir", metavar="DIR", help="keep clones, caches and logs there, for later steps (default: a temporary directory, removed)")
    options = parser.parse_args()
    options.steps = options.steps.split(",")
    unknown = [step for step in options.steps if step not in STEPS]
    if unknown:
        parser.error(f"unknown step '{unknown[0]}'; the steps are {', '.join(STEPS)}")
    return options


def machine():
    return f"{os.cpu_count()} processors, {platform.machine()}, Linux {platform.release()}"


def versions():
    """The first lines of what the tools say of themselves."""
    tools = ("g++", "clang++-16", "clang-tidy-16", "mold", "ccache", "cmake")
    lines = (subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout for tool in tools)
    return ", ".join(text.strip().splitlines()[0] for text in lines)


def write_json(path, bench, failed):
    document = {"bench": "build", "machine": machine(), "versions": versions(), "command": " ".join(["./dev bench build", *sys.argv[1:]]),
                "figures": bench.figures, "details": bench.details, "not_measured": failed}
    pathlib.Path(path).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def main():
    options = arguments()
    if subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT, check=False).returncode != 0:
        print("note: uncommitted changes are not measured", file=sys.stderr)
    failed = {}
    with tempfile.TemporaryDirectory(prefix="fathom-bench-build-") as temporary:
        # A subdirectory, because the steps delete directories named ci, demo, cache and so on.
        bench = Bench(pathlib.Path(options.work_dir or temporary, "fathom-bench-build"))
        bench.work.mkdir(parents=True, exist_ok=True)
        for step in options.steps:
            try:
                STEPS[step][0](bench)
            except Exception as failure:  # pylint: disable=broad-exception-caught  the other steps are measured all the same
                failed[step] = str(failure)
                print(f"NOT MEASURED {step}: {failure}", flush=True)
            if options.json:
                write_json(options.json, bench, failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
