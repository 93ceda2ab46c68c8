// SkippedTraces: traces of which this node has no capture though something triggered one, until the collector is told.
//
// Purpose: whoever looks at such a request later shall read why nothing of its threads is there. Thread safety: all of
// it, but hand_over() from one thread at a time. Ownership: plain values. Bounds: kMost traces, of which the oldest go;
// of each trigger a rate; for each trace, process and trigger one report in kOnceNano, as far as the last
// kMostRemembered reports tell; kMostMessages in one hand_over(). What is dropped, of whatever reason, is counted in
// fathom_agent_skip_reports_dropped_total; a second report is not, because the first one says why. Units: nanoseconds
// of CLOCK_MONOTONIC, but for what a report has.
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
  // Slow requests are what people ask for; of the others, few are as good as all, and the collector keeps a limited
  // number of all nodes together.
  static constexpr RateLimit kRateOfSlow{20, 500};  // also of overdue ones
  static constexpr RateLimit kRateOfOthers{1, 50};

  SkippedTraces();

  // Not what is captured already (SkipReason::kSame), nor what is of no trace.
  void note(ingest::SkippedCapture skipped, uint64_t now_nano);
  // So many more, of which no trace is known.
  static void drop(uint64_t count);
  // The oldest first, a message's worth at a time, until `send` says that it takes none now.
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
