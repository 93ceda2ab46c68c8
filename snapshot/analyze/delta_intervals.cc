#include "snapshot/analyze/delta_intervals.h"

namespace fathom::snapshot {

// `before`: instructions between the beginning of what `from.at` counts from and of what `to.at` counts from.
Interval DeltaIntervals::between(const Mark& from, uint64_t before, const Mark& to) {
  return {from.tsc, to.tsc, before + to.at - from.at, from.ip, to.ip};
}

DeltaIntervals DeltaIntervals::from_the_beginning() {
  DeltaIntervals first;
  first.decision_ = Decision::kInterrupt;
  return first;
}

void DeltaIntervals::from(uint64_t tsc, uint64_t ip) {
  if (!open_) open_ = Mark{tsc, ip, at_};
}

void DeltaIntervals::to(uint64_t tsc, uint64_t ip, const Found& found) {
  const Mark here{tsc, ip, at_};
  if (decision_ == Decision::kNone) {
    // Whether this closes what is open here, or something older, is settled later.
    decision_ = Decision::kTo;
    decided_ = here;
    opened_before_ = open_;
  } else if (open_) {
    found(between(*open_, 0, here));
  }
  open_.reset();
}

void DeltaIntervals::interrupt() {
  if (decision_ == Decision::kNone) {
    decision_ = Decision::kInterrupt;
    opened_before_ = open_;
  } else if (open_) {
    ++broken_;
  }
  open_.reset();
}

void DeltaIntervals::follow(const DeltaIntervals& later, const Found& found) {
  broken_ += later.broken_;
  if (later.decision_ == Decision::kNone) {
    if (!open_ && later.open_) open_ = Mark{later.open_->tsc, later.open_->ip, at_ + later.open_->at};
    at_ += later.at_;
    return;
  }
  const bool is_to = later.decision_ == Decision::kTo;
  if (open_) {
    is_to ? found(between(*open_, at_, later.decided_)) : void(++broken_);
  } else if (later.opened_before_) {
    is_to ? found(between(*later.opened_before_, 0, later.decided_)) : void(++broken_);
  }
  open_ = later.open_;
  if (open_) open_->at += at_;
  at_ += later.at_;
}

}  // namespace fathom::snapshot
