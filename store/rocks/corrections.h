// Corrections: traces that lost spans to retention, with what is true of the rest.
//
// Purpose: lists and blocks have these traces at the place that they had with the dropped spans; searches take them
// from here instead. All of them are rows of the family `corrected`; the longest ones are in memory, too, so that most
// searches need no row. The number in memory is bounded: a search that goes on below the shortest of them reads the
// rows, within its budget. Thread safety: immutable once published. Ownership: owns its entries.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "store/block/summary.h"

namespace fathom::store {

class Corrections {
 public:
  struct Entry {
    TraceId id;
    TraceSummary summary;
  };

  explicit Corrections(size_t most_in_memory = 0) : most_(most_in_memory) {}

  void add(const TraceId& id, const TraceSummary& summary);
  // Call it once, after the last add().
  void finish();

  // The longest first.
  const std::vector<Entry>& in_memory() const { return entries_; }
  bool all_in_memory() const { return count_ == entries_.size(); }
  uint64_t count() const { return count_; }
  // False: certainly not corrected.
  bool may_contain(const TraceId& id) const { return !all_in_memory() || ids_.contains(id); }

 private:
  void cut();

  size_t most_;
  uint64_t count_ = 0;
  std::vector<Entry> entries_;
  std::unordered_set<TraceId, IdHash> ids_;
};

}  // namespace fathom::store
