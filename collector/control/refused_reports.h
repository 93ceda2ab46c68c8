// RefusedReports: reports of the nodes that this collector did not ask for their part of a trace, because it asks for a
// limited number of traces per second.
//
// Purpose: a timeline says of their processes why they have no capture, as it does where an agent skipped one. Whether
// such a node had a part of the trace nobody knows; its processes are not named. That nodes are not told to hold a
// trace is only remembered, because most of these are never chosen: it is reported when a capture of the trace begins.
// Thread safety: one thread. Ownership: plain values. Bounds: kMostHolds traces for kKeepHoldsNano, the oldest
// forgotten first; a trace is reported once a minute; reports have a rate, and what is beyond it, or comes before there
// is somebody to give it to, is counted in fathom_refused_reports_dropped_total. Units: monotonic nanoseconds.
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
  static constexpr uint64_t kKeepHoldsNano = kNanosPerHour + 5 * kNanosPerMinute;  // the longest period, and its end
  static constexpr size_t kMostReported = 4'096;
  static constexpr double kPerSecond = 5;
  static constexpr double kBurst = 500;

  void set_sink(PutSkipped put) { put_ = std::move(put); }
  void hold_refused(const TraceId& trace, uint64_t now_nano) { holds_.add(trace, now_nano); }
  // Whether a hold of the trace was refused; it is not any more.
  bool take_hold(const TraceId& trace, uint64_t now_nano) { return holds_.erase(trace, now_nano); }
  // That these nodes were not asked for the trace of this capture, or too late.
  void report(const store::CaptureInfo& info, const std::vector<ConnectedNode>& nodes, uint64_t now_nano,
              uint64_t now_unix_nano);

 private:
  PutSkipped put_;
  RecentSet<TraceId> holds_{kMostHolds, kKeepHoldsNano};
  RecentSet<TraceId> reported_{kMostReported, kNanosPerMinute};
  TokenBucket rate_{kPerSecond, kBurst};
};

}  // namespace fathom::collector
