"""Prints where a run of ./dev check or ./dev test spent its time: phase_report.py PHASES [PRESET=CTEST_XML...]

PHASES has a line for each phase: its name, a tab, its seconds. The report shows each phase beside its budget, the ten
slowest tests, and how long this machine takes for a fixed compilation (reference.cc). Budgets are for empty caches and two
processors, on a machine that takes REFERENCE_SECONDS for that compilation, and are scaled by this machine's time. A phase
over its budget causes a warning, not a failure.
"""

import pathlib
import statistics
import subprocess
import sys
import time

import ci_results

SCRIPT_DIR = pathlib.Path(__file__).resolve().parent
REFERENCE_SECONDS = 4.0
SLOWEST_TESTS = 10
TOTAL = "total"
BUDGET_SECONDS = {
    "packages": 120,
    "format and links": 30,
    "configure asan": 30,
    "generate": 30,
    "clang-tidy": 60 * ci_results.TIDY_MINUTES,
    "sources alone": 480,
    "page check": 120,
    "npm packages": 60,
    "browser": 60,
    "configure release": 30,
    "build release": 60 * ci_results.RELEASE_MINUTES,
    "test release": 30 * ci_results.TESTS_MINUTES,
    "build asan": 60 * ci_results.SANITIZERS_MINUTES,
    "test asan": 30 * ci_results.TESTS_MINUTES,
    "test extend": 180,
    TOTAL: 60 * ci_results.CI_MINUTES,
}


def reference_seconds():
    command = ["g++", "-std=c++20", "-O2", "-c", "-o", "/dev/null", str(SCRIPT_DIR / "reference.cc")]

    def once():
        started = time.monotonic()
        subprocess.run(command, check=True)
        return time.monotonic() - started

    return statistics.median(once() for _ in range(3))


def tests_of(argument):
    """(seconds, preset, name) of every test in the report of PRESET=CTEST_XML."""
    preset, path = argument.split("=", 1)
    return [(seconds, preset, name) for seconds, name in ci_results.test_seconds(path)]


def print_phases(phases, budget_scale):
    print(f"{'phase':<24}{'seconds':>9}{'budget':>9}")
    for name, seconds in phases.items():
        budget = BUDGET_SECONDS.get(name)
        print(f"{name:<24}{seconds:>9.0f}" + (f"{budget * budget_scale:>9.0f}" if budget else ""))


def print_tests(tests):
    print("the slowest tests")
    for seconds, preset, name in sorted(tests, reverse=True)[:SLOWEST_TESTS]:
        print(f"{preset + ' ' + name:<33}{seconds:>9.1f} s")


def warn_over_budget(phases, budget_scale):
    for name, budget in BUDGET_SECONDS.items():
        if phases.get(name, 0) > budget * budget_scale:
            print(f"warning: '{name}' took {phases[name]:.0f} s; its budget on this machine is {budget * budget_scale:.0f} s. "
                  "`./dev bench build` shows where the time goes.")


def main():
    phases = ci_results.phases_of(pathlib.Path(sys.argv[1]))
    phases[TOTAL] = sum(phases.values())
    reference = reference_seconds()
    budget_scale = reference / REFERENCE_SECONDS
    print_phases(phases, budget_scale)
    print(f"reference compilation: {reference:.1f} s ({REFERENCE_SECONDS:.1f} s on the machine that set the budgets; "
          f"budgets are scaled by {budget_scale:.2f})")
    tests = [test for argument in sys.argv[2:] for test in tests_of(argument)]
    if tests:
        print_tests(tests)
    warn_over_budget(phases, budget_scale)


if __name__ == "__main__":
    main()
