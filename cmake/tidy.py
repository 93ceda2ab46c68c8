"""Runs clang-tidy over our sources in batches and caches which sources are clean: tidy.py BUILD_DIR [-j N]

Most of clang-tidy's time goes into the headers of the standard library, Boost and gRPC. Sources of one folder with equal
flags are therefore checked together, in one translation unit of up to BATCH_SOURCES. A batch that does not compile (two
sources define the same name) is checked source by source.

A source is checked again when its text, a header that it includes, its flags, .clang-tidy or the version of clang-tidy
changes (passed_cache.py). Tests and fuzz targets are left out: GoogleTest's macros cost more time than their findings
are worth.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from passed_cache import PassedCache, salt_of
from translation_units import ROOT, units_of

TOOL = "clang-tidy-16"
BATCH_SOURCES = 32
EXCLUDED = re.compile(r"_(test|fuzz)\.cc$|/testing/")
FINDING = re.compile(r"^(/[^:\n]+):\d+:\d+: (?:warning|error):", re.MULTILINE)


def arguments():
    parser = argparse.ArgumentParser(description="Runs clang-tidy over every source that changed since it was clean.")
    parser.add_argument("build", type=pathlib.Path, help="a configured build directory with generated headers")
    parser.add_argument("-j", dest="jobs", type=int, default=1, help="processes at a time (default 1)")
    return parser.parse_args()


def batches_of(units):
    """Groups units of equal folder, language and flags into as few batches as BATCH_SOURCES allows, largest first."""
    groups = collections.defaultdict(list)
    for unit in units:
        groups[unit.source.parent, unit.source.suffix, unit.compiler, unit.flags].append(unit)
    batches = []
    for group in groups.values():
        count = -(-len(group) // BATCH_SOURCES)
        batches += [group[i * len(group) // count:(i + 1) * len(group) // count] for i in range(count)]
    return sorted(batches, key=len, reverse=True)


def source_of(batch, scratch):
    if len(batch) == 1:
        return batch[0].source
    handle, name = tempfile.mkstemp(dir=scratch, suffix=".cc")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        # clang-tidy would report every #include of a .cc file.
        file.writelines(f'#include "{unit.source}"  // NOLINT\n' for unit in batch)
    return name


def run_tidy(batch, scratch):
    """What clang-tidy prints about the batch; empty when it is clean."""
    command = [TOOL, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", "--warnings-as-errors=*",
               str(source_of(batch, scratch)), "--", *batch[0].flags]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode == 0:
        return ""
    return outcome.stdout + outcome.stderr or f"{TOOL} ended with status {outcome.returncode}\n"


def check(batch, scratch, cache):
    """Returns clang-tidy's output for the batch, and adds its clean sources to the cache.

    Some checks treat a source within a batch as a header, and names of two sources may collide. Each source with a finding
    is therefore checked again alone, and what is found then is printed. If that is nothing and a header has a finding, what
    was found in the batch is printed.
    """
    output = run_tidy(batch, scratch)
    if not output:
        for unit in batch:
            cache.add(unit)
    if not output or len(batch) == 1:
        return output
    named = {pathlib.Path(name).resolve() for name in FINDING.findall(output)}
    suspects, clean = split(batch, output, named, cache.includes)
    for unit in clean:
        cache.add(unit)
    of_the_batch = "[clang-diagnostic-error" in output or named and named.issubset(unit.source for unit in batch)
    return check_alone(suspects, scratch, cache) or ("" if of_the_batch else output)


def check_alone(suspects, scratch, cache):
    """What clang-tidy finds in each of the sources alone. A header's finding is printed once."""
    outputs = (check([unit], scratch, cache) for unit in suspects)
    return "".join(dict.fromkeys(output for output in outputs if output))


def split(batch, output, named, includes):
    """(units to check alone, units that include none of the named files)."""
    suspects = [unit for unit in batch if not named.isdisjoint(includes.of(unit))]
    if not suspects or "[clang-diagnostic-error" in output:
        return batch, []
    return suspects, [unit for unit in batch if unit not in suspects]


def main():
    options = arguments()
    started = time.monotonic()
    cache = PassedCache("fathom-tidy", salt_of(TOOL, ROOT / ".clang-tidy", __file__))
    units = units_of(options.build.resolve(), lambda source: not EXCLUDED.search(str(source)))
    batches = batches_of([unit for unit in units if not cache.has(unit)])
    findings = 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        checks = [pool.submit(check, batch, scratch, cache) for batch in batches]
        for future in concurrent.futures.as_completed(checks):
            output = future.result()
            findings += len(FINDING.findall(output)) or bool(output)
            print(output, end="", flush=True)
    checked = sum(len(batch) for batch in batches)
    seconds = time.monotonic() - started
    print(f"clang-tidy: {checked} of {len(units)} sources checked in {len(batches)} batches, {seconds:.0f} s, "
          f"{findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
