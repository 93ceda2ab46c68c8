// Sealing: a frozen generation becomes a segment, published at once or not at all.
//
// Purpose: rows are sorted by trace, summarised together with what older segments hold of the same traces, encoded as
// columns, and written as one sorted file per column family; all files, the segment's record among them, are ingested
// in one atomic step. Afterwards the stage rows are superfluous: a start ignores those up to the last sealed sequence.
// Thread safety: one thread at a time. Errors: a failure leaves the store as it was; the caller tries again.
// kCorrupt: stored data is damaged; with `on_unreadable`, what RocksDB must read to add a segment.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "store/block/segment_writer.h"
#include "store/rocks/catalogue.h"
#include "store/rocks/sealed.h"
#include "store/rocks/segment_rows.h"

namespace fathom::store {

struct SealInput {
  const Generation& generation;
  uint32_t segment = 0;  // the new segment's number, greater than every other
  const Catalogue& catalogue;
  SegmentOptions segment_options = {};
  // Of the segment's batches, where their sources do not say: first and last.
  std::optional<std::pair<uint64_t, uint64_t>> received_unix_nano = {};
  OnUnreadable on_unreadable = {};
};

Result<SegmentInfo> seal(const SealInput& input, const SealedContext& context, ViewPtr view);

}  // namespace fathom::store
