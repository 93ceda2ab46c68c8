// TraceMemory: which processes of this host finished spans of a trace lately, and when.
//
// Purpose: a capture by trace must find its processes and its time, though its spans have left. Finished spans are
// noted one behind the other in a ring, those of one trace that follow each other in one place; each place knows the
// one before it whose trace has the same hash. A search is as long as such a chain: some places, unless programs choose
// their trace ids so that these collide. Thread safety: none, belongs to the agent's loop. Units: nanoseconds of
// CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace fathom::agent {

class TraceMemory {
 public:
  static constexpr uint64_t kKeepNano = 60'000'000'000;

  // A power of two of places.
  explicit TraceMemory(size_t places = 128 << 10);

  void note(const uint8_t (&trace_id)[16], uint32_t program, uint64_t start_nano, uint64_t end_nano);

  struct Stay {
    uint32_t program = 0;
    uint64_t start_nano = 0;
    uint64_t end_nano = 0;
  };
  // One for each program; the one whose span was noted last comes last.
  std::vector<Stay> find(const TraceId& trace_id, uint64_t now_nano) const;

 private:
  struct Entry {
    TraceId trace_id;
    uint64_t start_nano = 0;
    uint64_t end_nano = 0;
    uint32_t program = 0;   // 0: none
    uint32_t previous = 0;  // of the same hash: its number
  };
  Entry& entry(uint32_t number) { return ring_[number & (ring_.size() - 1)]; }
  const Entry& entry(uint32_t number) const { return ring_[number & (ring_.size() - 1)]; }
  size_t chain_of(const TraceId& trace_id) const;

  std::vector<Entry> ring_;
  std::vector<uint32_t> latest_;  // by hash: the number of the last one
  uint32_t last_ = 0;             // numbers go on beyond the ring, and wrap
};

}  // namespace fathom::agent
