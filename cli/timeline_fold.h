// Repetitions in a thread's lines: waits, system calls and page faults that are alike become one line.
//
// Rules: where no event, span or gap stands between them, lines of at most 4 kinds are folded, one line for each kind,
// if there are three times as many lines as kinds. Two lines are alike that say the same but for their times: of a call
// its arguments, error and wait; of a wait what it was in and who ended it. What takes a tenth of the thread's time or
// more stands for itself. A folded line lasts from the first begin to the last end, and says how often, how long in
// all, and how long the longest took. Thread safety: pure functions.
#pragma once

#include <vector>

#include "cli/timeline_lines.h"

namespace fathom::cli {

// `lines` by time, with their depths.
std::vector<TimelineLine> folded(std::vector<TimelineLine> lines);

}  // namespace fathom::cli
