// SlowRoots: ranks requests whose root span comes from an OpenTelemetry SDK.
//
// Purpose: an agent ranks requests by the spans of its own node. If a request enters the fleet through a service with
// an OpenTelemetry SDK, no agent knows how long the whole request took, although `fathom slowest` lists it first. So
// the collector ranks root spans that arrive by OTLP (base/slowest_requests.h). Nodes hold captures of a trace whose
// root span is among the slowest of its operation and period so far; when the period is over, the slowest are captured.
// Spans from agents are ignored here. Periods are those of the root spans' start times, and are closed kGraceNano, or
// one period, after their end, because SDKs send spans some seconds late. Thread safety: took() from any thread; the
// rest from one thread. Cost: while no node holds traces, none; otherwise a lock per batch that has root spans, and
// some lookups per root span. Ownership: plain values. Bounds: SlowestOptions; kMostNameBytes of a name. Hostility:
// spans that begin more than kMostAheadNano in the future are not ranked. Errors: root spans beyond the bounds are
// counted in fathom_slow_roots_skipped_total. Units: Unix nanoseconds.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/metrics.h"
#include "base/slowest_requests.h"
#include "base/time.h"
#include "collector/span_observer.h"

namespace fathom::collector {

// A request, as its root span describes it.
struct SlowRoot {
  TraceId trace_id;
  std::string service;
  std::string operation;
  uint64_t start_unix_nano = 0;
  uint64_t end_unix_nano = 0;
  uint64_t hold_nano = 0;  // from now on, until after the end of its period
};

class SlowRoots : public SpanObserver {
 public:
  static constexpr uint64_t kGraceNano = 10 * kNanosPerSecond;
  static constexpr uint64_t kHoldAfterNano = 35 * kNanosPerSecond;  // the end of the period
  static constexpr uint64_t kMostAheadNano = kNanosPerMinute;
  static constexpr size_t kMostNameBytes = 128;

  explicit SlowRoots(const SlowestOptions& options = {.most_operations_of_user = 2'000});

  void took(const store::Batch& batch) override;

  struct Due {
    std::vector<SlowRoot> hold;
    std::vector<SlowRoot> capture;
  };
  // Returns what is to be held and captured since the last step; what lost its place since then is not held.
  // `period_nano`: of the agents; 0: no node holds traces, so nothing is ranked until the next step. A new period
  // begins a new ranking; the old one's traces are captured.
  Due step(uint64_t now_unix_nano, uint64_t period_nano);

 private:
  void rank(const store::Batch& batch, const store::Batch::Row& row);
  SlowRoot root_of(const store::Batch& batch, const store::Batch::Row& row, uint64_t period) const;
  void keep(const SlowestRequests::Placed& placed, SlowRoot root);
  void forget(SlowestRequests::Id id);
  void close_before(uint64_t period, std::vector<SlowRoot>& capture);

  const SlowestOptions options_;
  const uint64_t seed_;
  std::atomic<uint64_t> period_nano_{0};
  std::atomic<uint64_t> now_unix_nano_{0};  // of the last step
  std::mutex mutex_;                        // of what is below
  SlowestRequests slowest_;
  std::map<SlowestRequests::Id, SlowRoot> candidates_;  // those with a place in an open period
  std::set<TraceId> traces_;                            // the candidates'; senders repeat requests
  std::set<SlowestRequests::Id> new_;                   // candidates since the last step
  std::vector<SlowRoot> late_;                          // of closed periods, since the last step
  Counter& skipped_;
};

}  // namespace fathom::collector
