"""Measures which headers cost a build the most, by clang's -ftime-trace: header_cost.costs(build, jobs).

Every translation unit of a configured build is parsed once, without generating code. A header's cost is the time to parse
it, including the headers that it includes.
"""

import collections
import concurrent.futures
import json
import pathlib
import shlex
import subprocess
import tempfile


def trace_of(entry, path):
    words = [word for word in shlex.split(entry["command"]) if not word.endswith("ccache")]
    command = [*words, "-fsyntax-only", "-w", f"-ftime-trace={path}", "-ftime-trace-granularity=1000"]
    subprocess.run(command, cwd=entry["directory"], check=True, capture_output=True)
    return json.loads(path.read_text(encoding="utf-8"))["traceEvents"]


def header_seconds(events):
    """{header: seconds} of one translation unit; clang 16 writes a header's time as one event."""
    seconds = collections.Counter()
    for event in events:
        if event.get("name") == "Source":
            seconds[event["args"]["detail"]] += event["dur"] / 1e6
    return seconds


def costs(build, jobs):
    """[(seconds, translation units, header)], the most expensive first."""
    entries = json.loads(pathlib.Path(build, "compile_commands.json").read_text(encoding="utf-8"))
    # The source of the BPF object is generated late, and includes next to nothing.
    entries = [entry for entry in entries if entry["file"].endswith(".cc") and pathlib.Path(entry["file"]).exists()]
    seconds, units = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        traces = pool.map(lambda pair: trace_of(pair[1], pathlib.Path(folder, f"{pair[0]}.json")), enumerate(entries))
        for events in traces:
            of_unit = header_seconds(events)
            seconds.update(of_unit)
            units.update(of_unit.keys())
    return sorted(((cost, units[header], header) for header, cost in seconds.items()), reverse=True)
