// CpuShare: how much of a processor somebody may make us spend on them.
//
// Purpose: programs decide how much there is to look at; one that means ill must not take the watch's time from the
// others. What was spent is a debt that shrinks by one part in `of` of the time that passes. Thread safety: none.
// Units: nanoseconds.
#pragma once

#include <cstdint>

namespace fathom::agent {

class CpuShare {
 public:
  CpuShare(uint32_t of, uint64_t most_debt_nano) : of_(of), most_debt_nano_(most_debt_nano) {}

  bool may_spend(uint64_t now_nano) {
    settle(now_nano);
    return debt_nano_ <= most_debt_nano_;
  }
  void spend(uint64_t now_nano, uint64_t spent_nano) {
    settle(now_nano);
    debt_nano_ += spent_nano;
  }
  // When may_spend() will be true.
  uint64_t again_nano(uint64_t now_nano) {
    settle(now_nano);
    return debt_nano_ <= most_debt_nano_ ? now_nano : now_nano + (debt_nano_ - most_debt_nano_) * of_;
  }

 private:
  void settle(uint64_t now_nano) {
    uint64_t passed = now_nano > settled_nano_ ? (now_nano - settled_nano_) / of_ : 0;
    if (passed == 0) return;
    debt_nano_ = debt_nano_ > passed ? debt_nano_ - passed : 0;
    settled_nano_ = now_nano;
  }

  uint32_t of_;
  uint64_t most_debt_nano_;
  uint64_t debt_nano_ = 0;
  uint64_t settled_nano_ = 0;
};

}  // namespace fathom::agent
