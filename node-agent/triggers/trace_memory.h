// TraceMemory: which processes of this host recently finished spans of a trace, and when.
//
// Purpose: a capture by trace must find the trace's processes and times, though its spans have left the pools.
// Finished spans are noted in a ring; consecutive spans of one trace and program share an entry. Each entry links
// to the previous one whose trace has the same hash. A search follows this chain: a few entries, unless programs
// choose trace ids that collide. Thread safety: none, belongs to the agent's loop. Units: nanoseconds of
// CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace fathom::agent {

class TraceMemory {
 public:
  static constexpr uint64_t kKeepNano = 60'000'000'000;

  // `places`: the entries of the ring; a power of two.
  explicit TraceMemory(size_t places = 128 << 10);

  void note(const uint8_t (&trace_id)[16], uint32_t program, uint64_t start_nano, uint64_t end_nano);

  struct Stay {
    uint32_t program = 0;
    uint64_t start_nano = 0;
    uint64_t end_nano = 0;
  };
  // One for each program, in the order of their last noted spans.
  std::vector<Stay> find(const TraceId& trace_id, uint64_t now_nano) const;

 private:
  struct Entry {
    TraceId trace_id;
    uint64_t start_nano = 0;
    uint64_t end_nano = 0;
    uint32_t program = 0;   // 0: none
    uint32_t previous = 0;  // the number of the previous entry with the same hash
  };
  Entry& entry(uint32_t number) { return ring_[number & (ring_.size() - 1)]; }
  const Entry& entry(uint32_t number) const { return ring_[number & (ring_.size() - 1)]; }
  size_t chain_of(const TraceId& trace_id) const;

  std::vector<Entry> ring_;
  std::vector<uint32_t> latest_;  // by hash: the number of the last entry
  uint32_t last_ = 0;             // the last entry's number; numbers exceed the ring's size, and wrap
};

}  // namespace fathom::agent
