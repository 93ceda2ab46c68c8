// RemoteTriggers: decides for which captures, and for which windows, the other nodes are asked for captures, too.
//
// Purpose: ask for a captured trace while recorders still have it, but limit the load if everything is slow. The first
// capture of a trace may end long before the trace does: it was made while a span still ran, or because a span inside
// the request failed. So a later capture that covers more time asks again, for the union of both windows; nodes know
// what they have sent already. The first capture with the trigger `slow` always asks again, because nodes hold captures
// for it. A token bucket limits requests to 20 per second, and 200 at once, because agents send the slowest of a minute
// together. A trace that the bucket refused is considered again when its next capture begins. Bounds: traces are
// remembered for a minute, 4,096 at most, the oldest forgotten first; most_wider captures of a trace ask again because
// they cover more time. Thread safety: one thread. Units: monotonic nanoseconds; windows in nanoseconds of the
// collector's clock.
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

  // A capture of the trace has begun on a node. With kAsk, `window` becomes the window to ask for.
  Verdict captured(const TraceId& trace, CaptureTrigger trigger, Window& window, uint64_t now_nano);
  // A user asked all nodes for all of the trace.
  void asked(const TraceId& trace, uint64_t now_nano);

 private:
  struct Asked {
    Window window;
    size_t wider = 0;  // requests made because a capture covered more time
    bool is_slow = false;
  };
  Verdict captured_again(Asked& asked, bool is_slow, Window& window, uint64_t now_nano);

  const size_t most_wider_;
  TokenBucket rate_;
  RecentMap<TraceId, Asked> known_;
};

}  // namespace fathom::collector
