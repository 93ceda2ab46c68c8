"""Compiles every source and header alone, without generating code, and caches which passed: compile_alone.py BUILD_DIR [-j N] [--seconds N]

The builds compile sources in unity batches, where a source can use a header that only its neighbour includes. Here each
source, tests included, must compile by itself, and so must each header. A header that some source includes first is
compiled with that source; the others are compiled as sources. A file is compiled again when its text, a header that it
includes or its flags change (passed_cache.py). With --seconds, the rest is left to a later run when that time is over.

Parsing other projects' headers takes most of the time. Two kinds of them are precompiled:
- PRECOMPILED, for a source that includes them before any declaration of this repository. This changes nothing.
- GoogleTest's header, for a source that includes it anywhere. This can hide one kind of missing include: a source, or a
  header that only tests include, that uses a declaration from GoogleTest's header or its includes before the line that
  includes it. The preset `debug` compiles without this header.
"""

import argparse
import concurrent.futures
import functools
import math
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from passed_cache import PassedCache, salt_of
from translation_units import ROOT, Unit, units_of

COMPILER = "clang++-16"
GTEST = "gtest/gtest.h"
# Headers that many sources include first and that take long to parse. Each combination becomes one precompiled header.
PRECOMPILED = ("string", "memory", "functional", "boost/json.hpp")


def arguments():
    parser = argparse.ArgumentParser(description="Compiles every source that changed since it passed, each alone.")
    parser.add_argument("build", type=pathlib.Path, help="a configured build directory with generated headers")
    parser.add_argument("-j", dest="jobs", type=int, default=1, help="processes at a time (default 1)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no file after this time (default: no limit)")
    return parser.parse_args()


def unique_by_source(units):
    """One unit for each source: other flags do not change which headers it needs."""
    return list({unit.source: unit for unit in units}.values())


def headers_of(units, includes):
    """A unit for each header that no source includes first, with the flags of a source that includes it."""
    sources = {header: unit for unit in reversed(units) for header in includes.of(unit)
               if header.suffix == ".h" and header.is_relative_to(ROOT) and "build" not in header.relative_to(ROOT).parts}
    first = {includes.first(unit) for unit in units}
    return [Unit(header, unit.compiler, (*unit.flags, "-xc++", "-Wno-pragma-once-outside-header"))
            for header, unit in sorted(sources.items()) if header not in first]


@functools.cache
def includes_gtest(path):
    return f"#include <{GTEST}>".encode() in path.read_bytes()


class Precompiled:
    """Other projects' headers, precompiled once for each combination and set of flags that their content depends on."""

    def __init__(self, scratch, includes):
        self.scratch = pathlib.Path(scratch)
        self.includes = includes
        self.made = {}
        self.lock = threading.Lock()

    def flags_for(self, unit):
        """Additional compiler flags for the unit."""
        headers = self.headers_for(unit)
        if not headers:
            return []
        # Other projects' headers depend on neither our macros nor our directories.
        flags = tuple(flag for flag in unit.flags if not flag.startswith(("-DFATHOM_", "-I", "-iquote")))
        with self.lock:
            key = unit.compiler, flags, headers
            if key not in self.made:
                self.made[key] = self.make(*key)
        return ["-include-pch", str(self.made[key])]

    def headers_for(self, unit):
        if any(includes_gtest(path) for path in self.includes.of(unit)):
            return (GTEST,)
        leading = self.includes.leading_third_party_headers(unit)
        return tuple(header for header in PRECOMPILED if header in leading)

    def make(self, compiler, flags, headers):
        header = self.scratch / f"{len(self.made)}.h"
        header.write_text("".join(f"#include <{name}>\n" for name in headers), encoding="utf-8")
        output = header.with_suffix(".pch")
        subprocess.run([compiler, *flags, "-w", "-x", "c++-header", str(header), "-o", str(output)], check=True)
        return output


def compile_unit(unit, cache, precompiled):
    """Returns the compiler's errors, or an empty text. Warnings count as errors here too: in a batch, Clang treats a source
    as a header and does not report unused names in it."""
    command = [unit.compiler, *unit.flags, *precompiled.flags_for(unit), "-fsyntax-only", str(unit.source)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode != 0:
        return outcome.stderr or f"{unit.source}: the compiler ended with status {outcome.returncode}\n"
    cache.add(unit)
    return ""


def main():
    options = arguments()
    started = time.monotonic()
    cache = PassedCache("fathom-alone", salt_of(COMPILER, __file__))
    units = unique_by_source(units_of(options.build.resolve(), lambda source: True))
    units += headers_of(units, cache.includes)
    pending = [unit for unit in units if not cache.has(unit)]
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        precompiled = Precompiled(scratch, cache.includes)
        def compile_in_time(unit):
            return compile_unit(unit, cache, precompiled) if time.monotonic() < started + options.seconds else None
        outputs = list(pool.map(compile_in_time, pending))
    failed = [output for output in outputs if output]
    left = outputs.count(None)
    print("".join(failed), end="")
    print(f"sources alone: {len(pending) - left} of {len(units)} sources and headers compiled in "
          f"{time.monotonic() - started:.0f} s, {len(failed)} failed")
    if left > 0:
        print(f"sources alone: {left} are left to a later run, because the time was over")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
