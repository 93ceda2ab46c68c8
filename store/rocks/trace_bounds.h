// TraceBounds: when a trace's spans start and end, and when the first of them was received.
//
// Thread safety: a plain value. Units: nanoseconds of corrected time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fathom::store {

struct TraceBounds {
  uint64_t start_unix_nano = UINT64_MAX;
  uint64_t end_unix_nano = 0;
  uint64_t first_sequence = UINT64_MAX;

  uint64_t duration_nano() const { return end_unix_nano - start_unix_nano; }
  void add(uint64_t start, uint64_t end, uint64_t sequence) {
    start_unix_nano = std::min(start_unix_nano, start);
    end_unix_nano = std::max(end_unix_nano, end);
    first_sequence = std::min(first_sequence, sequence);
  }
  void add(const TraceBounds& other) { add(other.start_unix_nano, other.end_unix_nano, other.first_sequence); }
};

}  // namespace fathom::store
