// What functions took: a latency histogram for each, of the calls that were seen from entry to return.
//
// Purpose: what a call took has what it called in it, pauses and other threads' turns; a tail call ends the caller's.
// Time is what was recorded, as in the call tree; pauses stand beside it. Thread safety: any. Errors: those of the
// snapshot. Rows are by time and pauses in all calls, the most first; --limit keeps the first ones. Quantiles are
// within 1 % (base/histogram.h). Table, JSON with buckets, SVG with bars.
#pragma once

#include <string>
#include <vector>

#include "snapshot/analyze/call_answer.h"
#include "snapshot/analyze/svg.h"

namespace fathom::snapshot {

struct FunctionRow {
  std::string name;
  CallStats self;
  CallStats total;  // calls of itself by itself count once
  Histogram ticks;
};

// `calls`: of all threads together.
std::vector<FunctionRow> function_rows(const NamedCalls& calls, const FunctionLatencies& latencies,
                                       const FunctionNames& names);

Result<> answer_functions(const SnapshotDirectory& directory, const Question& question, const Output& output);

std::string functions_table(const std::vector<FunctionRow>& rows, const TraceTime& time, uint64_t limit);
void functions_json(net::JsonWriter& json, const std::vector<FunctionRow>& rows, const TraceTime& time, uint64_t limit);
std::string functions_svg(const std::vector<FunctionRow>& rows, const TraceTime& time, uint64_t limit,
                          std::string_view caption);

}  // namespace fathom::snapshot
