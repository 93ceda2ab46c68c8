// TimeResolution: how finely a trace knows time: the paper's temporal resolution factor.
//
// Purpose: p is the median time times the median count of instructions between branches whose time is newly known; the
// factor places p between the finest and the coarsest that the paper measured (14 ns and 78 instructions: 0; 910.5 us
// and 2.5 million instructions: 100), because one snapshot has no set of other configurations to be normalised by.
// Lower is finer. Thread safety: a plain value. Source: Sharma and Dagenais, section 4.2.4.
#pragma once

#include <cstdint>
#include <optional>

#include "snapshot/analyze/distribution.h"

namespace fathom::snapshot {

class TimeResolution {
 public:
  // A block of `count` instructions whose branch came at `tsc`.
  void run(uint64_t tsc, uint64_t count);
  // Nothing was recorded from one time to the other.
  void skip(uint64_t from_tsc, uint64_t to_tsc);
  // What comes next has nothing to do with what was before.
  void restart() { last_tsc_ = 0; }
  void merge(const TimeResolution& other);

  uint64_t median_ticks() const { return ticks_.quantile(0.5); }
  uint64_t median_instructions() const { return instructions_.quantile(0.5); }
  uint64_t samples() const { return ticks_.count(); }
  // 0 to 100, of a median time in nanoseconds.
  static double factor(uint64_t median_nano, uint64_t median_instructions);

 private:
  uint64_t last_tsc_ = 0;
  uint64_t since_ = 0;
  Distribution ticks_;
  Distribution instructions_;
};

}  // namespace fathom::snapshot
