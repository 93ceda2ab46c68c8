"""Where a build spent its time, from ninja's log: seconds by kind of step and folder, and the most expensive sources.

Seconds are those of each step by the wall, added up. Two steps that run at the same time both count.
"""

import collections
import pathlib

LINKED = (".a", ".so", "_tests", "_fuzz")


def steps_of(build):
    """{output: seconds} of the last run of each step; the outputs of one step count once."""
    steps = {}
    for line in pathlib.Path(build, ".ninja_log").read_text(encoding="utf-8").splitlines()[1:]:
        start, end, _, output, command = line.split("\t")
        steps[command] = (output, (int(end) - int(start)) / 1000)
    return dict(steps.values())


def folder_of(output):
    """store/CMakeFiles/fathom_store.dir/unity/... -> store; the build's own folders are left out."""
    return output.split("/CMakeFiles/")[0] if "/CMakeFiles/" in output else pathlib.PurePath(output).parent.name


def kind_of(output):
    if output.endswith(".o"):
        return "compile"
    if output.startswith("bin/") or output.endswith(LINKED):
        return "link"
    return "generate"


def by_folder(steps):
    """{(kind, folder): seconds}; only compilation is divided by folder."""
    sums = collections.Counter()
    for output, seconds in steps.items():
        kind = kind_of(output)
        sums[kind, folder_of(output) if kind == "compile" else ""] += seconds
    return sums


def most_expensive(steps, count):
    compiled = [(seconds, output) for output, seconds in steps.items() if kind_of(output) == "compile"]
    return sorted(compiled, reverse=True)[:count]
