// A trace's tree as text: offset, duration, a bar that shows where in the trace the span lies, then the tree itself.
//
// The numbers stand first, so that names of any length and depth keep the columns straight. Every name and value has
// gone through printable(). Thread safety: pure functions.
#pragma once

#include <string>

#include "cli/trace_tree.h"

namespace fathom::cli {

struct TraceTextOptions {
  size_t columns = 0;  // of the terminal; 0: never cut
  bool colour = false;
  bool attributes = false;  // and events, under each span
  size_t max_lines = 0;     // of the tree; 0: all of them
};

std::string trace_text(const TraceTree& tree, const TraceTextOptions& options);

// `width` cells, filled from where the span begins to where it ends; at least one.
std::string time_bar(uint64_t offset_nano, uint64_t duration_nano, uint64_t total_nano, size_t width);

}  // namespace fathom::cli
