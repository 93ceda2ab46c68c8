// SimulatedCaptures: the captures that a simulation sent, and a check of a store against them.
//
// Purpose: decides whether a store has each acknowledged capture, with the content that was sent. Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "store/capture_store.h"
#include "store/testing/simulated_time.h"

namespace fathom::store::testing {

struct SentCapture {
  uint64_t number = 0;
  SimulatedTime made;
  uint64_t order = 0;  // of its latest acknowledgement, among batches and captures
  bool acknowledged = false;
  bool may_be_dropped = false;
  bool dropped = false;
  bool is_lost = false;  // by damage to the disk, and reported

  bool must_be_stored() const { return acknowledged && !may_be_dropped && !is_lost; }

  template <typename Visit>
  void visit_state(Visit& visit) {
    made.visit_state(visit);
    visit("order", order);
    visit("acknowledged", acknowledged);
    visit("may_be_dropped", may_be_dropped);
    visit("dropped", dropped);
    visit("is_lost", is_lost);
  }
};

class SimulatedCaptures {
 public:
  // One of `all()`; the store's answer.
  AppendResult send(CaptureStore& store, const SentCapture& sent) const;
  SentCapture& make(const SimulatedTime& now);
  std::deque<SentCapture>& all() { return sent_; }

  struct Presence {
    std::vector<SentCapture*> missing;  // must be stored, and are not
    uint64_t unreadable = 0;            // the store reports an error or damage, or the content has another hash
    std::string fault;                  // none of the above
  };
  Presence find(CaptureStore& store);

  template <typename Visit>
  void visit_state(Visit& visit) {
    uint64_t captures = sent_.size();
    visit("captures", captures);
    while (sent_.size() < captures) make({});
    for (SentCapture& sent : sent_) sent.visit_state(visit);
  }

 private:
  std::deque<SentCapture> sent_;
};

}  // namespace fathom::store::testing
