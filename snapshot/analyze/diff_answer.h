// Two executions of the same code: which calls the second one has more or less, and what instructions and time it
// gained.
//
// Thread safety: any. Errors: those of either snapshot; kInvalid without a second one. Rows are in the order of what
// changed most: in time and pauses where both tell it in one unit, else in instructions. Table: a summary, then the
// paths that differ in anything, below those that called them. JSON: all paths, or with a limit those of the table.
// SVG: an icicle of both by time, else by instructions; what was gained in red, what went in blue.
#pragma once

#include "snapshot/analyze/call_answer.h"
#include "snapshot/analyze/call_difference.h"

namespace fathom::snapshot {

Result<> answer_diff(const SnapshotDirectory& directory, const Question& question, const Output& output);

// `time` is of both.
std::string diff_table(const CallDifference& difference, const TraceTime& time, uint64_t limit);
void diff_json(net::JsonWriter& json, const CallDifference& difference, uint64_t limit);
std::string diff_svg(const CallDifference& difference, const TraceTime& time, std::string_view caption);

}  // namespace fathom::snapshot
