// A jitdump: what a just-in-time compiler wrote of the code that it made (jit-PID.dump).
//
// Purpose: jitted code has no file; runtimes that are asked to (V8 and Java agents, .NET) write each function's bytes,
// name and address into a dump, and map one page of it executable, so that a recorder learns of it by the map's name.
// Thread safety: pure functions; views point into the caller's bytes. Errors: kCorrupt for what is no dump; a record
// that is damaged or cut off ends the reading, and `damaged` says so. Every byte is hostile. Source of the idea:
// tools/perf/Documentation/jitdump-specification.txt of Linux.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::snapshot {

// "jit-123.dump", in any directory.
bool is_jitdump_name(std::string_view path);

struct JitCode {
  uint64_t time = 0;  // nanoseconds of CLOCK_MONOTONIC, or ticks (JitDump::times_are_ticks)
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t index = 0;       // the compiler's number of it
  uint64_t moved_from = 0;  // another address: no new code, it moved from there
  std::string_view code;    // empty when it moved
  std::string_view name;
};

struct JitDump {
  int32_t pid = 0;
  bool times_are_ticks = false;
  bool damaged = false;
  std::vector<JitCode> code;  // in the order of the file
};

Result<JitDump> parse_jitdump(std::string_view bytes);

}  // namespace fathom::snapshot
