// The rows of a frozen generation in a segment's order, collapsed, flagged and summarised.
//
// Purpose: what sealing must decide about rows, apart from how they are written. Equal rows collapse, also with rows of
// older segments; equal ids with other content are both kept and flagged; each trace gets a summary that is cumulative
// over older segments. A trace whose older rows cost too much (OversizedLimits) becomes oversized. Of an oversized
// trace (span_store.h) no older row is read: its summary comes from tallies, its rows do not collapse, and
// `older_operations` and `older_places` stay empty. Thread safety: one thread. Ownership: rows point into the
// generation's batches. Errors: damage to older rows, or a disk that cannot read them, is reported to `on_unreadable`,
// and their trace becomes oversized; without `on_unreadable`, it is the result.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "store/block/segment_writer.h"
#include "store/rocks/generation.h"
#include "store/rocks/sealed.h"

namespace fathom::store {

struct SegmentRows {
  std::vector<SegmentRow> rows;
  std::vector<SegmentTrace> traces;
  std::vector<const Generation::Row*> sources;  // beside rows
  // Per trace: the operations of the older segments' rows, which its slow lists must name too. Empty for most.
  std::vector<std::vector<uint32_t>> older_operations;
  std::vector<std::vector<OlderPlace>> older_places;  // per trace: of the older segments' rows
  // Per trace: what the trace index keeps of oversized ones.
  std::vector<std::optional<PartTallies>> tallies;
  // Traces with spans in an older partition too: (that partition, trace), ascending.
  std::set<std::pair<uint32_t, TraceId>> straddling;
};

using OnUnreadable = std::function<void(const Error&)>;

Result<SegmentRows> segment_rows(const Generation& generation, SealedReader& older,
                                 const OnUnreadable& on_unreadable = {});

}  // namespace fathom::store
