// Relatives: rows of one trace, found by their id and by their parent's.
//
// Purpose: a trace of a hundred thousand spans asks as often who its parents are; two sorted lists of numbers answer
// that, and cost next to nothing for the many traces of a few spans. Thread safety: immutable. Ownership: owns its
// rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "store/rocks/trace_rows.h"

namespace fathom::store {

class Relatives {
 public:
  explicit Relatives(std::vector<TraceRow> rows);

  const std::vector<TraceRow>& rows() const { return rows_; }
  // Of those with this id the one that was received first; null where there is none.
  const TraceRow* find(const SpanId& id) const;

  template <typename Test>
  bool any_child(const SpanId& id, Test test) const {
    const auto parent = [this](uint32_t row) { return rows_[row].parent_span_id; };
    const auto children = std::ranges::equal_range(by_parent_, id, {}, parent);
    return std::ranges::any_of(children, [&](uint32_t row) { return test(rows_[row]); });
  }

 private:
  std::vector<TraceRow> rows_;
  std::vector<uint32_t> by_id_;      // and by reception
  std::vector<uint32_t> by_parent_;  // without roots
};

}  // namespace fathom::store
