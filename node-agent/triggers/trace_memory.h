// TraceMemory: which processes of this host finished spans of a trace lately, and when.
//
// Purpose: a capture by trace must find its processes and its time, though its spans have left. Finished spans are
// noted one behind the other in a ring, those of one trace that follow each other in one place, because that costs a
// few nanoseconds each; a search reads all of it, which takes about a millisecond, and is rare. Thread safety: none,
// belongs to the agent's loop. Units: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/ids.h"

namespace fathom::agent {

class TraceMemory {
 public:
  static constexpr uint64_t kKeepNano = 60'000'000'000;

  explicit TraceMemory(size_t entries = 128 << 10) : ring_(entries) {}

  void note(const uint8_t (&trace_id)[16], uint32_t program, uint64_t start_nano, uint64_t end_nano) {
    Entry& last = ring_[last_];
    if (last.program == program && std::memcmp(last.trace_id.bytes.data(), trace_id, sizeof trace_id) == 0) {
      last.start_nano = std::min(last.start_nano, start_nano);
      last.end_nano = std::max(last.end_nano, end_nano);
      return;
    }
    last_ = last_ + 1 == ring_.size() ? 0 : last_ + 1;
    Entry& next = ring_[last_];
    std::memcpy(next.trace_id.bytes.data(), trace_id, sizeof trace_id);
    next.program = program;
    next.start_nano = start_nano;
    next.end_nano = end_nano;
  }

  struct Stay {
    uint32_t program = 0;
    uint64_t start_nano = 0;
    uint64_t end_nano = 0;
  };
  // One for each program.
  std::vector<Stay> find(const TraceId& trace_id, uint64_t now_nano) const;

 private:
  struct Entry {
    TraceId trace_id;
    uint64_t start_nano = 0;
    uint64_t end_nano = 0;
    uint32_t program = 0;  // 0: none
  };
  std::vector<Entry> ring_;
  size_t last_ = 0;
};

}  // namespace fathom::agent
