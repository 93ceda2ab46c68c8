// SimulatedBatches: the batches that a simulation sent, and a check of a store against them.
//
// Purpose: decides whether a store has each acknowledged span exactly once. Each batch ends with a marker, a span in a
// trace of its own, which shows whether the batch is stored. A MemoryStore with the stored batches then says what every
// answer must be. Thread safety: none. Ownership: owns the batches.
#pragma once

#include <cstdint>
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
};

class SimulatedBatches {
 public:
  explicit SimulatedBatches(uint64_t seed) : input_(seed, true) {}

  SentBatch& make(const SimulatedTime& now);
  std::vector<SentBatch>& all() { return sent_; }
  void acknowledge(SentBatch& sent);

  struct Presence {
    std::vector<SentBatch*> stored;
    std::vector<SentBatch*> missing;  // acknowledged, and not dropped by retention
    uint64_t unreadable = 0;          // the store reports an error
    uint64_t repeated = 0;            // markers that are stored more than once
    std::string fault;                // of the store's answers, none of the above
  };
  Presence find(SpanStore& store);
  // Empty, or the first answer that differs from the model's.
  std::string compare(SpanStore& store, const Presence& presence);
  // True if `missing` is a part of the last acknowledged group.
  bool is_newest(const std::vector<SentBatch*>& missing) const;
  void write_expectation(const std::string& path) const;

 private:
  std::string compare_random(SpanStore& model, SpanStore& store);

  RandomInput input_;
  std::vector<SentBatch> sent_;
  uint64_t acknowledgements_ = 0;
};

// Spans in the statistics of a store; 0 if they cannot be read.
uint64_t spans_in_statistics(SpanStore& store);

}  // namespace fathom::store::testing
