// Jitted code of one process, as an image and the rows that say when it lay where.
//
// Purpose: between a dump (jitdump.h) and the history of processes. Thread safety: pure function. Errors: those of the
// dump; kExhausted for one that is too large.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

struct JitImage {
  std::string elf;             // code_image.h
  std::vector<Sideband> rows;  // kMap and kUnmap of `pid`; `image` is the caller's to set
  bool damaged = false;        // the dump ends within a record: what the process writes just now
};

// From CLOCK_MONOTONIC to perf's clock: a pair of both, taken at once.
struct ClockPair {
  uint64_t tsc = 0;
  uint64_t monotonic_nano = 0;
};

Result<JitImage> read_jit_image(const std::string& dump_bytes, int32_t pid, const Timing& timing, const ClockPair& now);

}  // namespace fathom::snapshot
