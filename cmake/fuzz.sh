#!/bin/bash
# Runs one libFuzzer target for FATHOM_FUZZ_SECONDS, or, when that is unset, for RUNS executions:
# fuzz.sh PROGRAM RUNS WORK_DIR [SEED_DIR...]
#
# RUNS is chosen to find regressions in the code that the seeds reach, and does not depend on the machine's speed. New inputs
# are kept in WORK_DIR/corpus/NAME for the next run, failing inputs in WORK_DIR/failures/.
set -euo pipefail

program=$1
runs=$2
work=$3
name=$(basename "$program")
corpus=$work/corpus/$name
failures=$work/failures/$name-
mkdir -p "$corpus" "$work/failures"

directories=("$corpus")
for seeds in "${@:4}"; do
  [[ ! -d $seeds ]] || directories+=("$seeds")
done
length=(-runs="$runs")
[[ -z ${FATHOM_FUZZ_SECONDS:-} ]] || length=(-max_total_time="$FATHOM_FUZZ_SECONDS")
exec "$program" "${length[@]}" -max_len=65536 -rss_limit_mb=2048 -timeout=30 \
  -print_final_stats=1 -verbosity=0 -artifact_prefix="$failures" "${directories[@]}"
