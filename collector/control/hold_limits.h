// HoldLimits: decides which announced traces the other nodes hold.
//
// Purpose: a trace is held once, even if several nodes announce it. There is a rate for all nodes together, and one per
// announcing node, so that no node uses up the common rate. Thread safety: one thread. Units: monotonic nanoseconds.
// Bounds: RemoteTriggerOptions; the rates of kMostNodes nodes. When there are more nodes, all rates start again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/ids.h"
#include "base/recent_set.h"
#include "base/token_bucket.h"
#include "collector/control/remote_triggers.h"

namespace fathom::collector {

struct NodeHoldOptions {
  double traces_per_s = 10;
  double burst = 50;
};

class HoldLimits {
 public:
  using Verdict = RemoteTriggers::Verdict;
  static constexpr size_t kMostNodes = 4096;

  HoldLimits(const RemoteTriggerOptions& all, const NodeHoldOptions& node)
      : node_(node), rate_(all.traces_per_s, all.burst), known_(all.max_traces, all.remember_nano) {}

  Verdict announced(const Id<16>& node, const TraceId& trace, uint64_t now_nano) {
    if (known_.contains(trace, now_nano)) return Verdict::kAsked;
    if (!rate_of(node).take(now_nano) || !rate_.take(now_nano)) return Verdict::kTooMany;
    known_.add(trace, now_nano);
    return Verdict::kAsk;
  }

 private:
  TokenBucket& rate_of(const Id<16>& node) {
    if (rates_.size() >= kMostNodes && !rates_.contains(node)) rates_.clear();
    return rates_.try_emplace(node, node_.traces_per_s, node_.burst).first->second;
  }

  const NodeHoldOptions node_;
  TokenBucket rate_;
  std::map<Id<16>, TokenBucket> rates_;
  RecentSet<TraceId> known_;
};

}  // namespace fathom::collector
