// Two executions of the same code: which calls the second one has more or less, and what instructions and time it
// gained.
//
// Thread safety: any. Errors: those of either snapshot; kInvalid without a second one. Table: a summary, then the paths
// that differ. JSON: all paths. SVG: an icicle of both, what was gained in red, what went in blue.
#pragma once

#include "snapshot/analyze/call_answer.h"
#include "snapshot/analyze/call_difference.h"

namespace fathom::snapshot {

Result<> answer_diff(const SnapshotDirectory& directory, const Question& question, const Output& output);

// `unit`: of time in both; empty where they count differently, and time is not compared.
std::string diff_table(const CallDifference& difference, const TraceTime& time, bool with_time, uint64_t limit);
void diff_json(net::JsonWriter& json, const CallDifference& difference, bool with_time, uint64_t limit);
std::string diff_svg(const CallDifference& difference, std::string_view caption);

}  // namespace fathom::snapshot
