// LargeTrace: what is known of a generation's rows of one trace, kept up to date with each row.
//
// Purpose: every search that comes across a trace wants its summary, and a trace may have all rows of a generation. So
// for traces of many rows the summary is kept, not made anew, and so are the bounds after each reception. Thread
// safety: as its generation. Ownership: owns its ids and bounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/ids.h"
#include "store/rocks/trace_bounds.h"
#include "store/rocks/trace_tally.h"

namespace fathom::store {

class LargeTrace {
 public:
  // Of an oversized trace the tally alone is wanted.
  explicit LargeTrace(bool oversized) : oversized_(oversized) {}

  void add(const TraceRow& row) {
    tally_.add(row);
    note_bounds(row);
    if (oversized_) return;
    has_repeated_ids_ |= !ids_.insert(row.span_id).second;
    missing_.erase(row.span_id);
    if (!row.parent_span_id.is_zero() && !ids_.contains(row.parent_span_id)) missing_.insert(row.parent_span_id);
  }

  const TraceTally& tally() const { return tally_; }
  // Of the rows that were received up to `last_sequence`.
  TraceBounds bounds(uint64_t last_sequence) const {
    auto after = std::ranges::upper_bound(bounds_, last_sequence, {}, &BoundsUpTo::sequence);
    return after == bounds_.begin() ? TraceBounds() : std::prev(after)->bounds;
  }
  // False: the rows are all different, and is_complete() is exact. Always true for an oversized trace.
  bool may_repeat_rows() const { return oversized_ || has_repeated_ids_; }
  // Whether every parent is among the rows.
  bool is_complete() const { return missing_.empty(); }

 private:
  using Ids = boost::unordered_flat_set<SpanId, IdHash>;

  struct BoundsUpTo {
    uint64_t sequence = 0;
    TraceBounds bounds;
  };

  void note_bounds(const TraceRow& row) {
    if (bounds_.empty()) bounds_.push_back({row.sequence, {}});
    if (bounds_.back().sequence != row.sequence) bounds_.push_back({row.sequence, bounds_.back().bounds});
    bounds_.back().bounds.add(row.start_unix_nano, row.end_unix_nano(), row.sequence);
  }

  const bool oversized_;
  TraceTally tally_;
  std::vector<BoundsUpTo> bounds_;  // one for each reception, ascending
  Ids ids_;
  Ids missing_;  // parents
  bool has_repeated_ids_ = false;
};

}  // namespace fathom::store
