// LargeTrace: what is known of a generation's rows of one trace, kept up to date with each row.
//
// Purpose: every search that comes across a trace wants its summary, and a trace may have all rows of a generation. So
// for traces of many rows the tally after each reception is kept. A query that began before the newest reception needs
// the tally of an earlier one. Thread safety: as its generation. Ownership: owns its ids and tallies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/ids.h"
#include "store/rocks/trace_tally.h"

namespace fathom::store {

class LargeTrace {
 public:
  // Of an oversized trace the tally alone is wanted.
  explicit LargeTrace(bool oversized) : oversized_(oversized) {}

  void add(const TraceRow& row) {
    begin_reception(row.sequence);
    receptions_.back().tally.add(row);
    if (oversized_) return;
    has_repeated_ids_ |= !ids_.insert(row.span_id).second;
    missing_.erase(row.span_id);
    if (!row.parent_span_id.is_zero() && !ids_.contains(row.parent_span_id)) missing_.insert(row.parent_span_id);
  }

  // Of all rows.
  const TraceTally& tally() const { return receptions_.back().tally; }
  // Of the rows that were received up to `last_sequence`.
  TraceTally tally(uint64_t last_sequence) const {
    auto after = std::ranges::upper_bound(receptions_, last_sequence, {}, &Reception::sequence);
    return after == receptions_.begin() ? TraceTally() : std::prev(after)->tally;
  }
  size_t memory_bytes() const {
    return receptions_.size() * sizeof(Reception) + (ids_.size() + missing_.size()) * sizeof(SpanId);
  }
  // False: the rows are all different, and is_complete() is exact. Always true for an oversized trace.
  bool may_repeat_rows() const { return oversized_ || has_repeated_ids_; }
  // Whether every parent is among the rows.
  bool is_complete() const { return missing_.empty(); }

 private:
  using Ids = boost::unordered_flat_set<SpanId, IdHash>;

  struct Reception {
    uint64_t sequence = 0;
    TraceTally tally;  // of the rows up to this one's last
  };

  void begin_reception(uint64_t sequence) {
    if (receptions_.empty()) receptions_.push_back({sequence, {}});
    if (receptions_.back().sequence != sequence) receptions_.push_back({sequence, receptions_.back().tally});
  }

  const bool oversized_;
  std::vector<Reception> receptions_;  // ascending
  Ids ids_;
  Ids missing_;  // parents
  bool has_repeated_ids_ = false;
};

}  // namespace fathom::store
