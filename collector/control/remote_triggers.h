// RemoteTriggers: which captures are a reason to ask the other nodes for theirs, too.
//
// Purpose: a trace that one node captures is asked for elsewhere once, while recorders still hold it; and a fleet in
// which everything is slow does not ask itself to death. A token bucket (10 per second, 20 at once) limits how many
// traces are asked for; one that it refuses may be asked for when its next capture begins. Traces are remembered for a
// minute, 4,096 at most, the oldest forgotten first. Thread safety: one thread. Units: monotonic nanoseconds.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_set>
#include <utility>

#include "base/ids.h"
#include "base/time.h"

namespace fathom::collector {

struct RemoteTriggerOptions {
  double traces_per_s = 10;
  double burst = 20;
  uint64_t remember_nano = kNanosPerMinute;
  size_t max_traces = 4096;
};

class RemoteTriggers {
 public:
  enum class Verdict : uint8_t { kAsk, kAsked, kTooMany };

  explicit RemoteTriggers(const RemoteTriggerOptions& options) : options_(options), tokens_(options.burst) {}

  // A capture of the trace has begun somewhere.
  Verdict captured(const TraceId& trace, uint64_t now_nano);
  // All nodes are asked for the trace anyway.
  void asked(const TraceId& trace, uint64_t now_nano);

 private:
  void forget(uint64_t now_nano);
  bool take_token(uint64_t now_nano);

  const RemoteTriggerOptions options_;
  double tokens_;
  uint64_t filled_nano_ = 0;
  std::unordered_set<TraceId, IdHash> known_;
  std::deque<std::pair<uint64_t, TraceId>> by_age_;
};

}  // namespace fathom::collector
