// join_states(): joins the states that the captures of one process have of one thread.
//
// Purpose: a state can begin in one capture and end in another. Rules: a state that began before its capture's window
// continues the same state at the end of the adjacent window. A guessed kBlocked also continues kSleeping and
// kUninterruptible. A capture without kernel events of the thread shows that the thread kept its state. So that window
// has the state at the end of the window before; else the state at the begin of the window after, if that is running or
// blocked. A guessed kRunnable does not count, because wake-ups can be missing. If both windows have states that
// contradict each other, events are missing, and the state is unknown. Thread safety: a plain function. Units:
// nanoseconds of the calendar. Bounds: linear, apart from sorting.
#pragma once

#include <cstdint>
#include <vector>

#include "query/timeline/thread_states.h"

namespace fathom::query {

// Times of two captures are each rounded by themselves.
inline constexpr uint64_t kSameMomentNano = 1'000;

// `states` do not overlap. The result is by time. Intervals of Silence::kNoThread whose state stays unknown are
// removed: the thread may not have existed.
void join_states(std::vector<StateInterval>& states);

}  // namespace fathom::query
