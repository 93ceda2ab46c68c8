// The call tree, with time and instruction counts.
//
// Thread safety: any. Errors: those of the snapshot. Table: a line per path of calls, children indented; --limit keeps
// the greatest. Rows are ranked, and pictures as wide, as NamedCalls::rank says. Time is what was recorded, pauses
// stand beside it; what elapsed, and what a call took, has them in it. JSON: rows in depth-first order ("id", "parent",
// "depth" instead of nesting, which readers limit). SVG: an icicle.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "snapshot/analyze/call_answer.h"

namespace fathom::snapshot {

Result<> answer_calls(const SnapshotDirectory& directory, const Question& question, const Output& output);

// A line of another function's text, which the compiler inlined at a line of the row's own.
struct InlinedLine {
  std::string function;
  std::string place;
  std::string source;
};
// A line of source, "shop/shelves.cc:88"; empty: not known.
struct RowLine {
  std::string place;                                  // in the text of the function that has a symbol
  std::string source;                                 // its text, where that is asked for and here
  std::optional<InlinedLine> inlined = std::nullopt;  // innermost_own_inlined() there
};
struct RowLines {
  RowLine called_from;  // where its function was called, where that was seen
  RowLine self;         // where it ran itself: at a likely hot instruction, else where the function begins
};
using CallLines = std::function<RowLines(const CallRow&)>;

std::string calls_table(const NamedCalls& calls, const TraceTime& time, uint64_t limit, const CallLines& lines = {});
// The members "ranked_by" and "rows" of an object that is open.
void calls_json(net::JsonWriter& json, const NamedCalls& calls, const TraceTime& time, uint64_t limit,
                const CallLines& lines = {});
// What comes first, as a line: by the answer's rank, which is not what was asked for where there are no times.
std::string rank_line(CallRank rank, bool by_instructions);
std::string calls_svg(const NamedCalls& calls, const TraceTime& time, std::string_view caption);

}  // namespace fathom::snapshot
