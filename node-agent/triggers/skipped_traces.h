// SkippedTraces: traces that were triggered but not captured on this node, until they are reported to the collector.
//
// Purpose: the timeline of such a trace then explains why it lacks events of this node. Thread safety: all of it, but
// hand_over() from one thread at a time. Ownership: plain values. Bounds: kMost traces, the oldest are dropped
// first; a rate for each trigger; one report for each trace, process and trigger in kOnceNano, among the last
// kMostRemembered reports; kMostMessages in one hand_over(). Each dropped report is counted in
// fathom_agent_skip_reports_dropped_total. A second report of the same is not counted, because the first one has the
// reason. Units: nanoseconds of CLOCK_MONOTONIC, except in the reports.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <tuple>

#include "base/recent_set.h"
#include "base/time.h"
#include "ingest/stream.h"
#include "node-agent/triggers/trigger_limits.h"

namespace fathom::agent {

class SkippedTraces {
 public:
  static constexpr size_t kMost = 1'000;
  static constexpr size_t kMostMessages = 8;
  static constexpr uint64_t kOnceNano = kNanosPerMinute;
  static constexpr size_t kMostRemembered = 4'096;
  // People mostly look at slow requests. Of the other triggers, a few reports explain as much as all, and the collector
  // keeps a limited number for all nodes together.
  static constexpr RateLimit kRateOfSlow{20, 500};  // also of kOverdue
  static constexpr RateLimit kRateOfOthers{1, 50};

  SkippedTraces();

  // Ignores traces that are captured already (SkipReason::kSame), and reports without a trace.
  void note(ingest::SkippedCapture skipped, uint64_t now_nano);
  // Counts reports that are dropped before they come here.
  static void drop(uint64_t count);
  // Passes the reports to `send`, the oldest first, one message at a time, until it returns false.
  void hand_over(const std::function<bool(const ingest::SkippedCaptures&)>& send);

 private:
  using Subject = std::tuple<TraceId, uint32_t, CaptureTrigger>;  // trace, process, trigger

  bool may_report(const ingest::SkippedCapture& skipped, uint64_t now_nano);
  ingest::SkippedCaptures take_first();
  void put_back(ingest::SkippedCaptures skipped);

  std::mutex mutex_;
  std::array<TokenBucket, kCaptureTriggerNames.size()> buckets_;  // by trigger
  RecentSet<Subject> reported_{kMostRemembered, kOnceNano};
  std::deque<ingest::SkippedCapture> waiting_;
};

}  // namespace fathom::agent
