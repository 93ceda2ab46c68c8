// Folds repetitions in a thread's lines: equal waits, system calls and page faults become one line.
//
// Rules: a run of lines without an event, span or gap between them is folded to one line per kind, if it has at most 4
// kinds and at least three times as many lines as kinds. Two system calls are of one kind if their arguments, error
// and wait are equal; two waits, if they were in the same place and ended for the same reason. A line that takes a
// tenth of the thread's time or more is not folded. A folded line lasts from the first begin to the last end. It gives
// the number of lines, their total time and the longest. Thread safety: pure functions.
#pragma once

#include <vector>

#include "cli/timeline_lines.h"

namespace fathom::cli {

// `lines`: by time, with their depths.
std::vector<TimelineLine> folded(std::vector<TimelineLine> lines);

}  // namespace fathom::cli
