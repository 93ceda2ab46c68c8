// add_new_events(): merges the events that two captures have of one thread.
//
// Purpose: each capture converts the program's ticks to nanoseconds by its own clock readings, so the times of one
// event differ slightly between captures. Rules: two events are the same if they come from different captures, their
// times differ by at most kSameEventNano, and place, values and span are equal; each event has at most one equal in
// another capture. Thread safety: a plain function. Bounds: compares each event with at most 64 others.
#pragma once

#include <cstdint>
#include <vector>

#include "query/timeline/meter.h"
#include "query/timeline/timeline.h"

namespace fathom::query {

inline constexpr uint64_t kSameEventNano = 20'000;

// Adds to `events` those of `fresh`, which are of one further capture, that it does not have. Both are sorted by
// monotonic time.
void add_new_events(std::vector<TimelineEvent>& events, std::vector<TimelineEvent> fresh, Meter& meter);

}  // namespace fathom::query
