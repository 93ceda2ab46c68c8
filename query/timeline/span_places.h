// Which process and which thread a span of the trace ran on.
//
// Rules: a span belongs to the process of a capture that mentions it, or mentions another span of the same resource, or
// whose service and process id are its resource's; else to a process of its resource's own, of which nothing is
// captured. Its thread is the one that had it open when a capture was made, or else the first that wrote an event under
// it; else, as a guess, the only thread of its children; else it has none.
// Thread safety: a plain function. Ownership: views into the timeline's trace and captures.
#pragma once

#include "query/timeline/timeline.h"

namespace fathom::query {

// Fills in processes, threads (with their spans only), spans without a thread, and clocks that captures lack.
void place_spans(Timeline& timeline);

// A process's thread of that number; made when it is new, which moves the others.
TimelineThread& thread_of(TimelineProcess& process, uint32_t tid);

}  // namespace fathom::query
