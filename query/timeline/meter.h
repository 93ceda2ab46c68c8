// Meter: what the making of a timeline takes of its query's budget: steps, memory, and what is written down.
//
// Purpose: captures are hostile, and loops over them long: each says here what it does, and ends when it may not go on.
// The first refusal stands. Thread safety: none. Ownership: none: the budget outlives it. Errors: the budget's.
#pragma once

#include <cstdint>

#include "store/span_store.h"

namespace fathom::query {

class Meter {
 public:
  explicit Meter(store::QueryBudget& budget) : budget_(budget) {}

  // All of them: whether to go on.
  bool going_on() const { return result_.ok(); }
  // So much work was done, in whatever is small. The budget is asked every some thousand.
  bool step(uint64_t steps = 1) {
    steps_ += steps;
    if (steps_ < kStepsBetween) return going_on();
    steps_ = 0;
    return spend(0);
  }
  // Memory that is taken.
  bool spend(uint64_t bytes) {
    if (going_on()) result_ = budget_.spend(bytes);
    return going_on();
  }
  // An answer has, or is about to have, so many bytes.
  bool written(uint64_t bytes) {
    if (bytes <= written_) return going_on();
    uint64_t more = bytes - written_;
    written_ = bytes;
    return spend(more);
  }
  const Result<>& result() const { return result_; }

 private:
  static constexpr uint64_t kStepsBetween = 4096;

  store::QueryBudget& budget_;
  Result<> result_;
  uint64_t steps_ = kStepsBetween;  // who was cancelled before is told at once
  uint64_t written_ = 0;
};

}  // namespace fathom::query
