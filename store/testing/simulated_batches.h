// SimulatedBatches: the batches that a simulation sent, and a check of a store against them.
//
// Purpose: decides whether a store has each acknowledged span exactly once. Each batch ends with a marker, a span in a
// trace of its own, which shows whether the batch is stored. A MemoryStore with the stored batches then says what every
// answer must be. The seed and its number make a batch again. Thread safety: none. Ownership: owns the batches.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "store/span_store.h"
#include "store/testing/random_input.h"
#include "store/testing/simulated_time.h"

namespace fathom::store::testing {

struct SentBatch {
  BatchPtr batch;
  uint64_t marker = 0;  // trace number
  SimulatedTime made;
  uint64_t order = 0;  // of its latest acknowledgement
  bool acknowledged = false;
  bool may_be_dropped = false;
  bool dropped = false;
  bool is_lost = false;  // by damage to the disk, and reported
  // Age times around its reception: from the first attempt to send it, since it was lost, to the latest answer.
  uint64_t first_stamp_nano = 0;
  uint64_t last_stamp_nano = 0;

  bool must_be_stored() const { return acknowledged && !may_be_dropped && !is_lost; }

  template <typename Visit>
  void visit_state(Visit& visit) {
    made.visit_state(visit);
    visit("order", order);
    visit("acknowledged", acknowledged);
    visit("may_be_dropped", may_be_dropped);
    visit("dropped", dropped);
    visit("is_lost", is_lost);
    visit("first_stamp_nano", first_stamp_nano);
    visit("last_stamp_nano", last_stamp_nano);
  }
};

class SimulatedBatches {
 public:
  explicit SimulatedBatches(uint64_t seed) : seed_(seed), input_(seed, true) {}

  SentBatch& make(const SimulatedTime& now);
  std::deque<SentBatch>& all() { return sent_; }

  struct Presence {
    std::vector<const SentBatch*> stored;
    std::vector<SentBatch*> missing;           // must be stored, and are not
    std::vector<const SentBatch*> unreadable;  // the store reports an error
    std::string error;                         // the last of these errors
    uint64_t repeated = 0;                     // markers that are stored more than once
    std::string fault;                         // of the store's answers, none of the above
  };
  Presence find(SpanStore& store);

  struct Comparison {
    std::string difference;   // empty, or the first answer that differs from the model's
    uint64_t unreadable = 0;  // answers that are errors
    std::string error;        // the last of them
    bool is_possible = true;  // false: it is not known which batches the store has
  };
  // `question`: decides about which random answers.
  Comparison compare(SpanStore& store, const Presence& presence, uint64_t question) const;

  template <typename Visit>
  void visit_state(Visit& visit) {
    uint64_t batches = sent_.size();
    visit("batches", batches);
    while (sent_.size() < batches) make({});
    for (SentBatch& sent : sent_) sent.visit_state(visit);
  }

 private:
  const uint64_t seed_;
  RandomInput input_;
  std::deque<SentBatch> sent_;
};

}  // namespace fathom::store::testing
