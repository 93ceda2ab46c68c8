// Checks of the families that point to segments: the trace index, the notes of retention, and rows without a segment.
//
// Thread safety: one thread. Ownership: everything given outlives the calls. Memory: a counter per segment. Errors:
// damage goes to the findings.
#pragma once

#include "store/rocks/sealed.h"
#include "store/verify/findings.h"

namespace fathom::store {

// Every row of the trace index names a segment that is stored, and every segment has as many as its record says. That
// a segment's traces are in the index is for SegmentCheck.
void check_trace_index(Database& database, const LivePartitions& live, const View& view, Findings& findings);
// Notes of traces over several partitions, and corrected summaries.
void check_notes(Database& database, const LivePartitions& live, SealedReader& reader, Findings& findings);
// Blocks, lists and cells of partitions that are not dropped belong to segments that have a record.
void check_orphans(Database& database, const LivePartitions& live, const View& view, Findings& findings);

}  // namespace fathom::store
