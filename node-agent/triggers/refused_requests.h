// RefusedRequests: requests that may be among the slowest and get no place: which are reported, and how many there
// were.
//
// Purpose: a user with more operations than are followed has every request refused, and a program may write requests of
// long ago, as many as it likes: a report of each would cost more than the captures. A few per second are reported, and
// the others are only counted: in fathom_agent_captures_skipped_total{trigger="slow"}, and as reports that are dropped.
// Thread safety: none. Units: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

#include "base/metrics.h"
#include "base/skip_reason.h"
#include "node-agent/triggers/slowest_requests.h"

namespace fathom::agent {

class RefusedRequests {
 public:
  using Refusal = SlowestRequests::Refusal;
  static constexpr uint64_t kOperationsPerSecond = 1;
  static constexpr uint64_t kLatePerSecond = 20;

  RefusedRequests();

  // Not of kNotSlow: that is no refusal to speak of.
  static SkipReason reason_of(Refusal refusal);
  // False: it is counted, and nothing more is to be done about it. True: whoever reports it counts it.
  bool may_be_reported(Refusal refusal);
  // Seconds begin and end here: no clock is read for each request.
  void step(uint64_t now_nano);

 private:
  struct Reason {
    Counter& counted;
    uint64_t per_second;
    uint64_t left;  // of this second
  };
  Reason& reason(Refusal refusal) { return refusal == Refusal::kTooManyOperations ? operations_ : late_; }

  Reason operations_;
  Reason late_;
  uint64_t next_second_nano_ = 0;
};

}  // namespace fathom::agent
