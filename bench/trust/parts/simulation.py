"""10,000 simulations of the store from seeds (docs/simulation.md), in two processes at once."""

import concurrent.futures
import json
import os
import subprocess
import sys
import time

from bench_trust import PartFailed

FIGURES = ["trust.simulation_silent_losses", "trust.simulation_doubled", "trust.simulation_failed_seeds"]
FULL_FIGURES = ["trust.simulation_min"]
TARGETS = ["store_simulation"]
SEEDS, QUICK_SEEDS = 10_000, 200
PROCESSES = 2
SEEDS_OF_A_PROCESS = 100


class Simulations:
    def __init__(self, context):
        self.context, self.running, self.sums, self.is_ending = context, set(), {}, False

    def run_some(self, first, seeds):
        """The counts that one process prints for these seeds."""
        save = self.context.work_directory / "fathom-simulation-failures"
        command = [self.context.programs / "store_simulation", "--first", first, "--seeds", seeds, "--keep-going", "yes",
                   "--save", save]
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                                   env=dict(os.environ, TMPDIR=str(self.context.scratch_directory)))
        self.running.add(process)
        if self.is_ending:  # run() has killed all processes that it knew
            process.kill()
        output, _ = process.communicate()
        self.running.discard(process)
        if not output.strip():
            raise PartFailed(f"the simulation of seeds {first} to {first + seeds - 1} ended with status {process.returncode}")
        return json.loads(output.splitlines()[-1])

    def add(self, said, seeds):
        for name, value in said.items():
            self.sums[name] = self.sums.get(name, 0) + value
        print(f"simulation: {self.sums['seeds']} of {seeds} seeds, {self.sums['failed_seeds']} failed", file=sys.stderr, flush=True)

    def run(self, seeds):
        with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
            try:
                parts = [pool.submit(self.run_some, first, SEEDS_OF_A_PROCESS)
                         for first in range(1, seeds + 1, SEEDS_OF_A_PROCESS)]
                for part in concurrent.futures.as_completed(parts):
                    self.add(part.result(), seeds)
            finally:
                self.is_ending = True
                pool.shutdown(wait=False, cancel_futures=True)
                for process in list(self.running):
                    process.kill()
        return self.sums


def run(context):
    seeds, began = QUICK_SEEDS if context.is_quick else SEEDS, time.monotonic()
    sums = Simulations(context).run(seeds)
    if sums["seeds"] != seeds:
        raise PartFailed(f"{sums['seeds']} of {seeds} seeds ran")
    figures = {f"trust.simulation_{name}": value for name, value in sums.items()}
    # The bound is one of all seeds.
    return figures if context.is_quick else figures | {"trust.simulation_min": (time.monotonic() - began) / 60}
