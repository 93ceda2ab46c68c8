// tick_window(): a window of time, in the ticks of a detail pool.
//
// Thread safety: a pure function. A window in which the counter may have jumped is of all ticks; whoever reads the
// events looks at the time of each anyway.
#pragma once

#include "node-agent/clock/tick_times.h"
#include "node-agent/detail/detail_snapshot.h"

namespace fathom::agent {

TickWindow tick_window(const TickTimes& times, pool::Clock clock, uint64_t begin_nano, uint64_t end_nano,
                       uint64_t now_nano);

}  // namespace fathom::agent
