"""Measures what `docs/durability.md` promises, part by part.

    ./dev bench trust [PART]... [--json FILE] [--quick] [--work-directory DIR]

A part is a module of bench/trust/parts/: `FIGURES` names its figures, `FULL_FIGURES` those that --quick does not measure,
`TARGETS` what must be built for it, and `run(context)` returns {key: number}. Without names, all parts run. The table marks a
figure beyond its bound as MISSED, and a figure without a value as NOT MEASURED; the status is 1 if a figure has no
value, and 0 otherwise.
"""

import argparse
import importlib
import json
import os
import pathlib
import platform
import shutil
import sys
import traceback

TRUST = pathlib.Path(__file__).resolve().parent
ROOT = TRUST.parent.parent
sys.path.insert(0, str(TRUST))
# What /dev/shm must have free to be used.
LEAST_FREE_BYTES = 4 << 30
# At most, by key. A figure that has no bound is printed without one.
AT_MOST = {
    "trust.silent_losses": 0,
    "trust.doubled": 0,
    "trust.simulation_silent_losses": 0,
    "trust.simulation_doubled": 0,
    "trust.simulation_failed_seeds": 0,
    "trust.kills_silent_losses": 0,
    "trust.kills_doubled": 0,
    "trust.flips_silent_losses": 0,
    "trust.flips_doubled": 0,
    "trust.simulation_min": 90,
    "trust.endless_trace_rss_mib": 512,
    "trust.slowest_beside_endless_ms_p99": 20,
    "trust.fair_query_ms_p99": 50,
    "trust.verify_rss_mib": 512,
    "trust.repair_rss_mib": 512,
    "ingest.one_exporter_ack_over_fdatasync": 2,
}
AT_LEAST = {"trust.flips_handled_pct": 100}
# Figures that several parts contribute to. A sum is a figure of a run that has all of these parts.
SUMS = {
    "trust.silent_losses": ["trust.simulation_silent_losses", "trust.kills_silent_losses", "trust.flips_silent_losses"],
    "trust.doubled": ["trust.simulation_doubled", "trust.kills_doubled", "trust.flips_doubled"],
}


class PartFailed(Exception):
    """A part that could not be measured; the message says why."""


class Context:
    """What a part is given: where programs are, where it may write, and whether a first look suffices."""

    def __init__(self, arguments):
        self.programs = ROOT / "build" / "release" / "bin"
        self.work_directory = pathlib.Path(arguments.work_directory or "/tmp").resolve()
        # For parts that simulate a disk, or damage files: they need no real disk, and its syncs make them slower.
        self.scratch_directory = self.work_directory if arguments.work_directory else directory_in_memory()
        self.is_quick = arguments.quick


def directory_in_memory():
    """/dev/shm if it has room, else /tmp."""
    shared = pathlib.Path("/dev/shm")
    has_room = shared.is_dir() and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free >= LEAST_FREE_BYTES
    return shared if has_room else pathlib.Path("/tmp")


def names_of_parts():
    return sorted(path.stem for path in (TRUST / "parts").glob("*.py") if not path.stem.startswith("_"))


def part(name):
    return importlib.import_module(f"parts.{name}")


def verdict(key, figure):
    if key in AT_MOST:
        return f"<= {AT_MOST[key]}  " + ("ok" if figure <= AT_MOST[key] else "MISSED")
    if key in AT_LEAST:
        return f">= {AT_LEAST[key]}  " + ("ok" if figure >= AT_LEAST[key] else "MISSED")
    return ""


def run_part(name, context):
    """The figures of a part, and {key: reason} of those that it does not have."""
    module = part(name)
    try:
        figures, reason = module.run(context), "the part did not return it"
    except PartFailed as failure:
        figures, reason = {}, str(failure)
    except Exception as fault:  # a fault of one part must not cost the figures of the others
        traceback.print_exc()
        figures, reason = {}, f"{type(fault).__name__}: {fault}"
    expected = module.FIGURES + ([] if context.is_quick else getattr(module, "FULL_FIGURES", []))
    return figures, {key: reason for key in expected if key not in figures}


def add_sums(names, figures, missing):
    known = {key for name in names for key in part(name).FIGURES}
    for key, addends in SUMS.items():
        if not known.issuperset(addends):
            continue
        if absent := [addend for addend in addends if addend not in figures]:
            missing[key] = "no value of " + ", ".join(absent)
        else:
            figures[key] = sum(figures[addend] for addend in addends)


def run_parts(names, context):
    """The figures of all parts, and the reasons why others are missing."""
    figures, missing = {}, {}
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        found, absent = run_part(name, context)
        figures.update(found)
        missing.update(absent)
    add_sums(names, figures, missing)
    return figures, missing


def print_table(figures, missing):
    for key, figure in figures.items():
        print(f"{key:44} {figure:14.2f}   {verdict(key, figure)}")
    for key, why in missing.items():
        print(f"{key:44}   NOT MEASURED: {why}")


def write_json(path, figures, missing):
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
    document = {"bench": "trust", "machine": machine, "command": " ".join(["./dev bench trust", *sys.argv[1:]]),
                "figures": figures}
    if missing:
        document["not_measured"] = missing
    pathlib.Path(path).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(prog="./dev bench trust", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description=__doc__.splitlines()[0], epilog="parts: " + ", ".join(names_of_parts()))
    parser.add_argument("parts", nargs="*", metavar="PART", help="the parts to run (default: all)")
    parser.add_argument("--json", metavar="FILE", help="a file for the figures")
    parser.add_argument("--quick", action="store_true", help="a first look with less data; its figures are no proof")
    parser.add_argument("--work-directory", metavar="DIR",
                        help="where data directories are made and removed (default: /tmp; simulations and flips in /dev/shm, if it "
                        "has 4 GiB free)")
    parser.add_argument("--list-targets", action="store_true", help="print what has to be built, and end")
    arguments = parser.parse_args()
    if arguments.work_directory and not pathlib.Path(arguments.work_directory).is_dir():
        parser.error(f"no directory {arguments.work_directory!r}: create it, or pass --work-directory DIR")
    names = arguments.parts or names_of_parts()
    if unknown := set(names) - set(names_of_parts()):
        parser.error(f"unknown part {sorted(unknown)[0]!r}; parts: " + ", ".join(names_of_parts()))
    if arguments.list_targets:
        print(" ".join(sorted({target for name in names for target in part(name).TARGETS})))
        return 0
    figures, missing = run_parts(names, Context(arguments))
    print_table(figures, missing)
    if arguments.json:
        write_json(arguments.json, figures, missing)
    return 1 if missing else 0


if __name__ == "__main__":
    # Parts import this module by its name: for them, and for this program, it must be one.
    sys.modules["bench_trust"] = sys.modules["__main__"]
    sys.exit(main())
