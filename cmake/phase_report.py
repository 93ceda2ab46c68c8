"""Prints where a run of ./dev check or ./dev test spent its time: phase_report.py PHASES [PRESET=CTEST_XML...]

PHASES has a line for each phase: its name, a tab, its seconds. The report shows each phase beside its budget, the ten
slowest tests, and how long this machine takes for a fixed compilation (reference.cc). Budgets are for empty caches and two
processors, on a machine that takes REFERENCE_SECONDS for that compilation; they grow with what this machine takes. A phase
over its budget is a warning, not a failure.
"""

import pathlib
import statistics
import subprocess
import sys
import time
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
REFERENCE_SECONDS = 4.0
SLOWEST_TESTS = 10
BUDGET_SECONDS = {
    "clang-tidy": 720,
    "sources alone": 720,
    "page check": 120,
    "build release": 720,
    "test release": 300,
    "build asan": 960,
    "test asan": 300,
}


def phases_of(path):
    """{name: seconds}, in the order of their first run; a phase that ran twice has both times."""
    phases = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, seconds = line.split("\t")
        phases[name] = phases.get(name, 0) + float(seconds)
    return phases


def reference_seconds():
    command = ["g++", "-std=c++20", "-O2", "-c", "-o", "/dev/null", str(HERE / "reference.cc")]

    def once():
        started = time.monotonic()
        subprocess.run(command, check=True)
        return time.monotonic() - started

    return statistics.median(once() for _ in range(3))


def tests_of(argument):
    """(seconds, preset, name) of every test that ctest's report has."""
    preset, path = argument.split("=", 1)
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        yield float(case.get("time")), preset, case.get("name")


def print_phases(phases, slowness):
    print(f"{'phase':<24}{'seconds':>9}{'budget':>9}")
    for name, seconds in phases.items():
        budget = BUDGET_SECONDS.get(name)
        print(f"{name:<24}{seconds:>9.0f}" + (f"{budget * slowness:>9.0f}" if budget else ""))
    print(f"{'together':<24}{sum(phases.values()):>9.0f}")


def print_tests(tests):
    print("the slowest tests")
    for seconds, preset, name in sorted(tests, reverse=True)[:SLOWEST_TESTS]:
        print(f"{preset + ' ' + name:<33}{seconds:>9.1f} s")


def warn(phases, slowness):
    for name, budget in BUDGET_SECONDS.items():
        if phases.get(name, 0) > budget * slowness:
            print(f"warning: '{name}' took {phases[name]:.0f} s; its budget on this machine is {budget * slowness:.0f} s. "
                  "`./dev bench build` shows where the time goes.")


def main():
    phases = phases_of(pathlib.Path(sys.argv[1]))
    reference = reference_seconds()
    slowness = reference / REFERENCE_SECONDS
    print_phases(phases, slowness)
    print(f"reference compilation: {reference:.1f} s ({REFERENCE_SECONDS:.1f} s where the budgets were set; "
          f"budgets times {slowness:.2f})")
    tests = [test for argument in sys.argv[2:] for test in tests_of(argument)]
    if tests:
        print_tests(tests)
    warn(phases, slowness)


if __name__ == "__main__":
    main()
