#!/bin/bash
# Runs one libFuzzer target for FATHOM_FUZZ_SECONDS (6 unless set): fuzz.sh PROGRAM WORK_DIR [SEED_DIR...]
#
# What it learns is kept in WORK_DIR/corpus/NAME for the next run; an input that fails is kept in WORK_DIR/failures/.
set -euo pipefail

program=$1
work=$2
name=$(basename "$program")
corpus=$work/corpus/$name
failures=$work/failures/$name-
mkdir -p "$corpus" "$work/failures"

directories=("$corpus")
for seeds in "${@:3}"; do
  [[ ! -d $seeds ]] || directories+=("$seeds")
done
exec "$program" -max_total_time="${FATHOM_FUZZ_SECONDS:-6}" -max_len=65536 -rss_limit_mb=2048 -timeout=30 \
  -print_final_stats=0 -verbosity=0 -artifact_prefix="$failures" "${directories[@]}"
