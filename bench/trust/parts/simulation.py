"""10,000 simulations of the store from seeds (docs/simulation.md), in two processes."""

import json
import os
import subprocess
import time

from bench_trust import PartFailed

FIGURES = ["trust.simulation_silent_losses", "trust.simulation_doubled", "trust.simulation_failed_seeds"]
FULL_FIGURES = ["trust.simulation_min"]
TARGETS = ["store_simulation"]
SEEDS, QUICK_SEEDS = 10_000, 200
PROCESSES = 2


def start(context, first, seeds):
    save = context.work_directory / "fathom-simulation-failures"
    command = [context.programs / "store_simulation", "--first", first, "--seeds", seeds, "--keep-going", "yes",
               "--save", save]
    return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                            env=dict(os.environ, TMPDIR=str(context.work_directory)))


def sum_of(process, sums):
    output, _ = process.communicate()
    if not output.strip():
        raise PartFailed(f"a simulation ended with status {process.returncode}")
    for name, value in json.loads(output.splitlines()[-1]).items():
        sums[name] = sums.get(name, 0) + value


def run(context):
    each = (QUICK_SEEDS if context.is_quick else SEEDS) // PROCESSES
    sums, began = {}, time.monotonic()
    processes = [start(context, 1 + number * each, each) for number in range(PROCESSES)]
    try:
        for process in processes:
            sum_of(process, sums)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    if sums["seeds"] != PROCESSES * each:
        raise PartFailed(f"{sums['seeds']} of {PROCESSES * each} seeds ran")
    figures = {f"trust.simulation_{name}": value for name, value in sums.items()}
    # The bound is one of all seeds.
    return figures if context.is_quick else figures | {"trust.simulation_min": (time.monotonic() - began) / 60}
