#include "node-agent/triggers/refused_requests.h"

#include "base/time.h"
#include "node-agent/triggers/capture_metrics.h"
#include "node-agent/triggers/skipped_traces.h"

namespace fathom::agent {

RefusedRequests::RefusedRequests()
    : operations_{skipped_counter(CaptureTrigger::kSlow, SkipReason::kOperations), kOperationsPerSecond,
                  kOperationsPerSecond},
      late_{skipped_counter(CaptureTrigger::kSlow, SkipReason::kTooLate), kLatePerSecond, kLatePerSecond} {}

SkipReason RefusedRequests::reason_of(Refusal refusal) {
  return refusal == Refusal::kTooManyOperations ? SkipReason::kOperations : SkipReason::kTooLate;
}

bool RefusedRequests::may_be_reported(Refusal refusal) {
  Reason& its = reason(refusal);
  if (its.left > 0) return --its.left, true;
  its.counted.add();
  SkippedTraces::drop(1);
  return false;
}

void RefusedRequests::step(uint64_t now_nano) {
  if (now_nano < next_second_nano_) return;
  next_second_nano_ = now_nano + kNanosPerSecond;
  operations_.left = operations_.per_second;
  late_.left = late_.per_second;
}

}  // namespace fathom::agent
