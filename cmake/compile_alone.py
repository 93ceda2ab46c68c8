"""Compiles every source alone, without generating code, and caches which passed: compile_alone.py BUILD_DIR [-j N]

The builds compile sources in unity batches, where a source can use a header that only its neighbour includes. Here each
source, tests included, must compile by itself. A source is compiled again when its text, a header that it includes or its
flags change (translation_units.py).
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys
import time

from translation_units import PassedCache, units_of


def arguments():
    parser = argparse.ArgumentParser(description="Compiles every source that changed since it passed, each alone.")
    parser.add_argument("build", type=pathlib.Path, help="a configured build directory with generated headers")
    parser.add_argument("-j", dest="jobs", type=int, default=1, help="processes at a time (default 1)")
    return parser.parse_args()


def once_each(units):
    """One unit for each source: other flags do not change which headers it needs."""
    return list({unit.source: unit for unit in units}.values())


def compile_unit(unit, cache):
    """The compiler's errors; empty when there are none."""
    command = [unit.compiler, *unit.flags, "-fsyntax-only", "-w", str(unit.source)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode != 0:
        return outcome.stderr
    cache.add(unit)
    return ""


def main():
    options = arguments()
    started = time.monotonic()
    cache = PassedCache("fathom-alone", b"1")
    units = once_each(units_of(options.build.resolve(), lambda source: True))
    due = [unit for unit in units if not cache.has(unit)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for printed in pool.map(lambda unit: compile_unit(unit, cache), due):
            failed += bool(printed)
            print(printed, end="", flush=True)
    seconds = time.monotonic() - started
    print(f"sources alone: {len(due)} of {len(units)} compiled in {seconds:.0f} s, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
