// RefusedRequests: limits the reports of requests that may be among the slowest but get no place, and counts the
// others.
//
// Purpose: if a user has more operations than are followed, every request of the others gets no place; and a program
// may write any number of requests of long ago. Reports of all of them would cost more than the captures. So a few per
// second are reported. The others are only counted, in fathom_agent_captures_skipped_total{trigger="slow"} and as
// dropped reports. Thread safety: none. Units: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

#include "base/metrics.h"
#include "base/skip_reason.h"
#include "base/slowest_requests.h"

namespace fathom::agent {

class RefusedRequests {
 public:
  using Refusal = SlowestRequests::Refusal;
  static constexpr uint64_t kOperationsPerSecond = 1;
  static constexpr uint64_t kLatePerSecond = 20;

  RefusedRequests();

  // Not for kNotSlow, which is not reported.
  static SkipReason reason_of(Refusal refusal);
  // True: the caller reports and counts the request. False: it is counted here, and not reported.
  bool may_be_reported(Refusal refusal);
  // Starts a new second if one is over, so that no clock is read for each request.
  void step(uint64_t now_nano);

 private:
  struct Reason {
    Counter& counted;
    uint64_t per_second;
    uint64_t left;  // in this second
  };
  Reason& reason(Refusal refusal) { return refusal == Refusal::kTooManyOperations ? operations_ : late_; }

  Reason operations_;
  Reason late_;
  uint64_t next_second_nano_ = 0;
};

}  // namespace fathom::agent
