// The call tree, with time and instruction counts.
//
// Thread safety: any. Errors: those of the snapshot. Table: a line per path of calls, children indented; --limit keeps
// the greatest. NamedCalls::rank orders the rows, and is the width in pictures. Recorded time excludes pauses, which
// have a column of their own; elapsed time, and the time that a call took, include them. JSON: rows in depth-first
// order ("id", "parent", "depth" instead of nesting, which readers limit). SVG: an icicle.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "snapshot/analyze/call_answer.h"

namespace fathom::snapshot {

Result<> answer_calls(const SnapshotDirectory& directory, const Question& question, const Output& output);

// A line of a function that the compiler inlined at a line of the row's own function.
struct InlinedLine {
  std::string function;
  std::string place;
  std::string source;
};
// A line of source, "shop/shelves.cc:88"; empty: not known.
struct RowLine {
  std::string place;                                  // the line in the function that has a symbol
  std::string source;                                 // the text of the line, if requested and available
  std::optional<InlinedLine> inlined = std::nullopt;  // from innermost_own_inlined()
};
struct RowLines {
  RowLine called_from;  // where its function was called, where that was seen
  RowLine self;         // where it ran itself: at a likely hot instruction, else where the function begins
};
using CallLines = std::function<RowLines(const CallRow&)>;

std::string calls_table(const NamedCalls& calls, const TraceTime& time, uint64_t limit, const CallLines& lines = {});
// Writes the members "ranked_by" and "rows" into an open object.
void calls_json(net::JsonWriter& json, const NamedCalls& calls, const TraceTime& time, uint64_t limit,
                const CallLines& lines = {});
// A line that names the rank. Without times, that is instructions even if time was requested.
std::string rank_line(CallRank rank, bool by_instructions);
std::string calls_svg(const NamedCalls& calls, const TraceTime& time, std::string_view caption);

}  // namespace fathom::snapshot
