// The tally of an oversized trace's sealed rows, from what the trace index has of its parts.
//
// Purpose: reads one row of the index as a rule. A part that was sealed before its trace was oversized, or by a server
// before version 7, has no tally of its own: its rows are read, one part at a time. Thread safety: as SealedReader's.
// Errors: as SealedReader's.
#pragma once

#include "store/rocks/sealed.h"

namespace fathom::store {

// Of this part alone.
Result<TraceTally> tally_of_part(SealedReader& sealed, const TraceId& id, const TracePart& part);
// Of all live parts; rows that were received after `last_sequence` do not count. May be empty.
Result<TraceTally> sealed_tally(SealedReader& sealed, const TraceId& id, uint64_t last_sequence = UINT64_MAX);

}  // namespace fathom::store
