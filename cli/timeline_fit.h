// What of a thread's lines is shown, and how deep each stands.
//
// Rules: page faults that nothing comes between are one line. Where all lines are asked for, there are no other rules.
// Otherwise repetitions are one line (timeline_fold.h); where there are still more lines than fit, spans stay; half of
// the room, and what waits leave of it, has events: the first and the last ones; the rest has the longest system calls
// and waits, then page faults. Where lines are missing, one says how many, and of which time. Thread safety: pure
// functions.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/timeline_lines.h"

namespace fathom::cli {

// `lines` by time, all of them. `most`: so many at most, spans and gaps not counted; 0: all, none folded.
ThreadLines fitted(std::vector<TimelineLine> lines, size_t most);

}  // namespace fathom::cli
