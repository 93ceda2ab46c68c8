#include "store/rocks/relatives.h"

#include <tuple>
#include <utility>

namespace fathom::store {

Relatives::Relatives(std::vector<TraceRow> rows) : rows_(std::move(rows)) {
  for (uint32_t row = 0; row < rows_.size(); ++row) {
    by_id_.push_back(row);
    if (!rows_[row].parent_span_id.is_zero()) by_parent_.push_back(row);
  }
  std::ranges::sort(by_id_, {},
                    [this](uint32_t row) { return std::tuple(rows_[row].span_id, rows_[row].sequence, row); });
  std::ranges::sort(by_parent_, {}, [this](uint32_t row) { return rows_[row].parent_span_id; });
}

const TraceRow* Relatives::find(const SpanId& id) const {
  const auto found = std::ranges::lower_bound(by_id_, id, {}, [this](uint32_t row) { return rows_[row].span_id; });
  return found != by_id_.end() && rows_[*found].span_id == id ? &rows_[*found] : nullptr;
}

}  // namespace fathom::store
