// SimulatedCaptures: the captures that a simulation sent, and a check of a store against them.
//
// Purpose: decides whether a store has each acknowledged capture, with the content that was sent. Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/capture_store.h"
#include "store/testing/simulated_time.h"

namespace fathom::store::testing {

struct SentCapture {
  uint64_t number = 0;
  SimulatedTime made;
  bool acknowledged = false;
  bool may_be_dropped = false;
  bool dropped = false;
};

class SimulatedCaptures {
 public:
  // One of `all()`; the store's answer.
  AppendResult send(CaptureStore& store, SentCapture& sent) const;
  SentCapture& make(const SimulatedTime& now);
  std::vector<SentCapture>& all() { return sent_; }

  struct Presence {
    std::vector<const SentCapture*> missing;  // acknowledged, and not dropped by retention
    uint64_t unreadable = 0;                  // the store reports an error or damage, or the content has another hash
    std::string fault;                        // none of the above
  };
  Presence find(CaptureStore& store);

 private:
  std::vector<SentCapture> sent_;
};

}  // namespace fathom::store::testing
