"""Runs clang-tidy over our sources in batches and caches which sources are clean: tidy.py BUILD_DIR [-j N]

Most of clang-tidy's time goes into the headers of the standard library, Boost and gRPC. Sources of one folder with equal
flags are therefore checked together, in one translation unit of up to BATCH_SOURCES. A batch that does not compile (two
sources define the same name) is checked source by source.

A source is checked again when its text, a header that it includes, its flags, .clang-tidy or the version of clang-tidy
changes (translation_units.py). Tests and fuzz targets are left out: GoogleTest's macros cost more time than their findings
are worth.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from translation_units import ROOT, PassedCache, units_of

TOOL = "clang-tidy-16"
BATCH_SOURCES = 32
LEFT_OUT = re.compile(r"_(test|fuzz)\.cc$|/testing/")
FINDING = re.compile(r"^(/[^:\n]+):\d+:\d+: (?:warning|error):", re.MULTILINE)


def arguments():
    parser = argparse.ArgumentParser(description="Runs clang-tidy over every source that changed since it was clean.")
    parser.add_argument("build", type=pathlib.Path, help="a configured build directory with generated headers")
    parser.add_argument("-j", dest="jobs", type=int, default=1, help="processes at a time (default 1)")
    return parser.parse_args()


def salt():
    version = subprocess.run([TOOL, "--version"], check=True, capture_output=True).stdout
    return hashlib.sha256(version + (ROOT / ".clang-tidy").read_bytes()).digest()


def batches_of(units):
    """Units of equal folder, language and flags: as few batches as the bound allows, the largest first."""
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
        # A source that includes a source is a finding.
        file.writelines(f'#include "{unit.source}"  // NOLINT\n' for unit in batch)
    return name


def run_tidy(batch, scratch):
    """What clang-tidy prints about the batch; empty when it is clean."""
    command = [TOOL, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", "--warnings-as-errors=*",
               str(source_of(batch, scratch)), "--", *batch[0].flags]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    return outcome.stdout + outcome.stderr if outcome.returncode != 0 else ""


def check(batch, scratch, cache):
    """What clang-tidy finds in the batch; remembers its clean sources.

    Some checks treat a source within a batch as a header, and names of two sources may collide. Each source with a finding
    is therefore checked again alone, and only what is found then is printed.
    """
    printed = run_tidy(batch, scratch)
    if not printed:
        for unit in batch:
            cache.add(unit)
    if not printed or len(batch) == 1:
        return printed
    suspects, clean = split(batch, printed, cache.includes)
    for unit in clean:
        cache.add(unit)
    return "".join(check([unit], scratch, cache) for unit in suspects)


def split(batch, printed, includes):
    """(units to check alone, units that no finding concerns)."""
    named = {pathlib.Path(name).resolve() for name in FINDING.findall(printed)}
    if not named or "[clang-diagnostic-error" in printed:
        return batch, []
    suspects = [unit for unit in batch if unit.source in named]
    for header in named - {unit.source for unit in suspects}:
        suspects += [unit for unit in batch if header in includes.of(unit)][:1]
    return suspects, [unit for unit in batch if named.isdisjoint(includes.of(unit))]


def main():
    options = arguments()
    started = time.monotonic()
    cache = PassedCache("fathom-tidy", salt())
    units = units_of(options.build.resolve(), lambda source: not LEFT_OUT.search(str(source)))
    batches = batches_of([unit for unit in units if not cache.has(unit)])
    findings = 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        checks = [pool.submit(check, batch, scratch, cache) for batch in batches]
        for done in concurrent.futures.as_completed(checks):
            printed = done.result()
            findings += len(FINDING.findall(printed)) or bool(printed)
            print(printed, end="", flush=True)
    checked = sum(len(batch) for batch in batches)
    seconds = time.monotonic() - started
    print(f"clang-tidy: {checked} of {len(units)} sources checked in {len(batches)} batches, {seconds:.0f} s, "
          f"{findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
