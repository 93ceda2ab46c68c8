#include "node-agent/triggers/skipped_traces.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/metrics.h"
#include "ingest/limits.h"

namespace fathom::agent {

namespace {

Counter& dropped_reports() {
  static Counter& dropped = counter("fathom_agent_skip_reports_dropped_total",
                                    "Traces that were not captured and whose reason is not reported to the collector.");
  return dropped;
}

TokenBucket bucket_of(CaptureTrigger trigger) {
  const bool is_of_slow = trigger == CaptureTrigger::kSlow || trigger == CaptureTrigger::kOverdue;
  const RateLimit& limit = is_of_slow ? SkippedTraces::kRateOfSlow : SkippedTraces::kRateOfOthers;
  return {limit.per_second, limit.burst};
}

template <size_t... kNumbers>
std::array<TokenBucket, sizeof...(kNumbers)> buckets_of_triggers(std::index_sequence<kNumbers...>) {
  return {bucket_of(static_cast<CaptureTrigger>(kNumbers + 1))...};
}

}  // namespace

SkippedTraces::SkippedTraces()
    : buckets_(buckets_of_triggers(std::make_index_sequence<kCaptureTriggerNames.size()>())) {
  dropped_reports();
}

void SkippedTraces::drop(uint64_t count) {
  dropped_reports().add(count);
}

void SkippedTraces::note(ingest::SkippedCapture skipped, uint64_t now_nano) {
  if (skipped.reason == SkipReason::kSame || skipped.trace_id.is_zero()) return;
  std::lock_guard lock(mutex_);
  if (!may_report(skipped, now_nano)) return;
  waiting_.push_back(std::move(skipped));
  if (waiting_.size() <= kMost) return;
  waiting_.pop_front();
  drop(1);
}

bool SkippedTraces::may_report(const ingest::SkippedCapture& skipped, uint64_t now_nano) {
  const Subject subject{skipped.trace_id, skipped.pid, skipped.trigger};
  if (reported_.contains(subject, now_nano)) return false;
  if (!buckets_[static_cast<size_t>(skipped.trigger) - 1].take(now_nano)) return drop(1), false;
  reported_.add(subject, now_nano);
  return true;
}

void SkippedTraces::hand_over(const std::function<bool(const ingest::SkippedCaptures&)>& send) {
  for (size_t messages = 0; messages < kMostMessages; ++messages) {
    ingest::SkippedCaptures first = take_first();
    if (first.empty()) return;
    if (!send(first)) return put_back(std::move(first));
  }
}

ingest::SkippedCaptures SkippedTraces::take_first() {
  std::lock_guard lock(mutex_);
  const auto end =
      waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), ingest::kMostSkippedCaptures));
  ingest::SkippedCaptures first(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  return first;
}

void SkippedTraces::put_back(ingest::SkippedCaptures skipped) {
  std::lock_guard lock(mutex_);
  waiting_.insert(waiting_.begin(), std::make_move_iterator(skipped.begin()), std::make_move_iterator(skipped.end()));
  for (; waiting_.size() > kMost; waiting_.pop_front()) drop(1);
}

}  // namespace fathom::agent
