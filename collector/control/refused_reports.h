// RefusedReports: reports for nodes that this collector did not ask for their part of a trace, because it asks for a
// limited number of traces per second.
//
// Purpose: a timeline gives this reason for processes of such a node, as it gives the reasons that agents report. The
// reports name no process, because the collector does not know whether the node had a part of the trace. A refused hold
// is only remembered, because most held traces are never chosen; it is reported when a capture of the trace begins.
// Thread safety: one thread. Ownership: plain values. Bounds: kMostHolds traces for kKeepHoldsNano, the oldest dropped
// first; each trace is reported once a minute; reports have a rate. Those beyond it, or before set_sink(), are counted
// in fathom_refused_reports_dropped_total. Units: monotonic nanoseconds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/recent_set.h"
#include "base/time.h"
#include "base/token_bucket.h"
#include "collector/agents/control.h"

namespace fathom::collector {

class RefusedReports {
 public:
  static constexpr size_t kMostHolds = 16'384;
  static constexpr uint64_t kKeepHoldsNano = kNanosPerHour + 5 * kNanosPerMinute;  // longest period, and its end
  static constexpr size_t kMostReported = 4'096;
  static constexpr double kPerSecond = 5;
  static constexpr double kBurst = 500;

  void set_sink(PutSkipped put) { put_ = std::move(put); }
  void hold_refused(const TraceId& trace, uint64_t now_nano) { holds_.add(trace, now_nano); }
  // True if a hold of the trace was refused; forgets that.
  bool take_hold(const TraceId& trace, uint64_t now_nano) { return holds_.erase(trace, now_nano); }
  // Reports that these nodes were asked late, or not at all, for the trace of this capture.
  void report(const store::CaptureInfo& info, const std::vector<ConnectedNode>& nodes, uint64_t now_nano,
              uint64_t now_unix_nano);

 private:
  PutSkipped put_;
  RecentSet<TraceId> holds_{kMostHolds, kKeepHoldsNano};
  RecentSet<TraceId> reported_{kMostReported, kNanosPerMinute};
  TokenBucket rate_{kPerSecond, kBurst};
};

}  // namespace fathom::collector
