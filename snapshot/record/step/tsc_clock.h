// TscClock: the time-stamp counter and CLOCK_MONOTONIC, held against each other at the beginning and at the end.
//
// Thread safety: plain values. Units: in the names. Errors: none. Source of the idea: perf's time_mult and time_shift.
#pragma once

#include <x86intrin.h>

#include <cstdint>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot::step {

inline uint64_t read_tsc() {
  return __rdtsc();
}

class TscClock {
 public:
  TscClock();
  // Estimated over some milliseconds at the beginning, and never zero.
  double ticks_per_nano() const { return ticks_per_nano_; }
  // What CBR packets say: hundreds of megahertz.
  uint8_t ratio() const;
  // By two points that are as far apart as the recording was long.
  Timing timing() const;

 private:
  struct Point {
    uint64_t tsc;
    uint64_t nano;
  };
  static Point now();
  static double ticks_per_nano_between(const Point& from, const Point& to);

  Point begin_;
  double ticks_per_nano_;
};

}  // namespace fathom::snapshot::step
