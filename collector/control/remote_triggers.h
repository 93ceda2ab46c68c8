// RemoteTriggers: which captures are a reason to ask the other nodes for theirs, too, and for which window.
//
// Purpose: a trace that one node captures is asked for elsewhere while recorders still hold it; and a fleet in which
// everything is slow does not ask itself to death. The first capture of a trace may end long before the trace does: it
// was made while a span still ran, or of one that failed within. So one that reaches further asks again, for the
// window of both; nodes know what they have sent of it. The first one that says that the trace is among the slowest
// asks again in any case, because nodes hold captures for it. A token bucket limits how often is asked: 20 per second,
// and 200 at once, because agents send the slowest of a minute together. What it refuses may be asked for when the
// trace's next capture begins. Traces are remembered for a minute, 4,096 at most, the oldest forgotten first; of one,
// most_wider captures ask again because they reach further. Thread safety: one thread. Units: monotonic nanoseconds,
// and windows in nanoseconds of the collector's calendar.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/capture_trigger.h"
#include "base/ids.h"
#include "base/recent_map.h"
#include "base/time.h"
#include "base/token_bucket.h"

namespace fathom::collector {

struct RemoteTriggerOptions {
  double traces_per_s = 20;
  double burst = 200;
  uint64_t remember_nano = kNanosPerMinute;
  size_t max_traces = 4096;
  size_t most_wider = 3;
};

class RemoteTriggers {
 public:
  enum class Verdict : uint8_t { kAsk, kAsked, kTooMany };
  struct Window {
    uint64_t start_unix_nano = 0;
    uint64_t end_unix_nano = 0;
  };

  explicit RemoteTriggers(const RemoteTriggerOptions& options)
      : most_wider_(options.most_wider),
        rate_(options.traces_per_s, options.burst),
        known_(options.max_traces, options.remember_nano) {}

  // A capture of the trace has begun somewhere. kAsk: `window` becomes what is to be asked for.
  Verdict captured(const TraceId& trace, CaptureTrigger trigger, Window& window, uint64_t now_nano);
  // All nodes are asked for all of the trace anyway.
  void asked(const TraceId& trace, uint64_t now_nano);

 private:
  struct Asked {
    Window window;
    size_t wider = 0;  // how often it was asked again because a capture reaches further
    bool is_slow = false;
  };
  Verdict captured_again(Asked& asked, bool is_slow, Window& window, uint64_t now_nano);

  const size_t most_wider_;
  TokenBucket rate_;
  RecentMap<TraceId, Asked> known_;
};

}  // namespace fathom::collector
