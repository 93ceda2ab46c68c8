// Selects the lines of a thread that are shown, and sets the depth of each.
//
// Rules: adjacent page faults become one line. If all lines are requested, no other rule applies. Otherwise repetitions
// become one line (timeline_fold.h). If more lines remain than fit, all spans stay. Events get half of the space, and
// the space that waits leave of theirs: the first and the last events. The longest system calls and waits get the rest,
// then page faults. Where lines are left out, a line gives their number and their period of time. Thread safety: pure
// functions.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/timeline_lines.h"

namespace fathom::cli {

// `lines`: all, by time. `most`: the limit, without spans and gaps; 0: no limit, and nothing is folded.
ThreadLines fitted(std::vector<TimelineLine> lines, size_t most);

}  // namespace fathom::cli
