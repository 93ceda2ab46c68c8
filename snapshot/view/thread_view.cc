#include "snapshot/view/thread_view.h"

#include <algorithm>

namespace fathom::snapshot {

std::string_view ThreadView::unit(ViewAxis asked) const {
  return axis(asked) == ViewAxis::kRows ? "rows" : context_.time().unit();
}

int64_t ThreadView::offset(ViewAxis axis, uint64_t value) const {
  const int64_t offset = axis == ViewAxis::kRows ? static_cast<int64_t>(std::min<uint64_t>(value, UINT32_MAX))
                                                 : context_.since_begin(value).value_or(0);
  return std::clamp(offset, -ViewAsk::kMostOffset, ViewAsk::kMostOffset);
}

// Offsets never become less where ticks become more, and nobody has the inverse: bit by bit.
uint64_t ThreadView::first_at(ViewAxis axis, int64_t wanted) const {
  if (axis == ViewAxis::kRows) return static_cast<uint64_t>(std::max<int64_t>(wanted, 0));
  uint64_t low = 1, high = UINT64_MAX;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (offset(axis, middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

uint64_t ThreadView::last_at(ViewAxis axis, int64_t wanted) const {
  if (axis == ViewAxis::kRows) return static_cast<uint64_t>(std::max<int64_t>(wanted, 0));
  if (wanted >= ViewAsk::kMostOffset) return UINT64_MAX;
  return first_at(axis, wanted + 1) - 1;
}

int64_t ThreadView::row_offset(const PackedFlow::Cursor& item, uint64_t row) const {
  if (!has_time()) return offset(ViewAxis::kRows, row);
  return offset(ViewAxis::kTime, flow_.row_tsc(item, row - item.row()));
}

uint64_t ThreadView::row_at(int64_t wanted) const {
  if (has_time()) return flow_.row_at_tsc(last_at(ViewAxis::kTime, wanted));
  return std::min(last_at(ViewAxis::kRows, wanted), flow_.rows() - 1);
}

}  // namespace fathom::snapshot
