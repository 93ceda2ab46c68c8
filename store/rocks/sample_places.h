// SamplePlaces: the blocks that a sample is drawn from, and stretches of rows in memory, in an order by hash.
//
// Purpose: whoever stops early has looked at an even part of everything; asked again, at the same part. Within a block
// traces are by id, which is random already. Thread safety: one query, one thread. Ownership: places point into the
// view.
#pragma once

#include <vector>

#include "store/rocks/sealed.h"
#include "store/rocks/span_rows.h"

namespace fathom::store {

struct SamplePlace {
  const SegmentInfo* segment = nullptr;    // null: in memory
  const Generation* generation = nullptr;  // null: in a segment
  uint32_t block = 0;                      // in memory: the first row
  uint32_t rows = 0;
  uint64_t order = 0;
};

// Those that may hold a span that is meant.
Result<std::vector<SamplePlace>> sample_places(SealedReader& sealed, const SpanRows& meant);

// Calls `each(index)` for `count` of `total` indexes, ascending and evenly spread; for all when there are no more.
template <typename Each>
void each_evenly(size_t total, size_t count, Each each) {
  count = std::min(count, total);
  for (size_t i = 0; i < count; ++i) each(i * total / count);
}

}  // namespace fathom::store
