// Which process and which thread a span of the trace ran on.
//
// Rules: a span belongs to the process of a capture that mentions it, or mentions another span of the same resource, or
// whose service, process id and host are its resource's (a host that nobody knows, as a container's, may be any); else
// to a process of its resource's own, of which nothing is captured. Its thread is the one that had it open when a
// capture was made, or else the first that wrote an event under it; else, as a guess, the only one that ran when it
// began and when it ended (runners.h), or the only thread of its children; else it has none. Thread safety: a plain
// function. Ownership: views into the timeline's trace and captures.
#pragma once

#include "base/result.h"
#include "query/timeline/timeline.h"

namespace fathom::query {

// Fills in processes, all of their threads (with their spans only), spans without a thread, and clocks that captures
// lack. Errors: the budget's.
Result<> place_spans(Timeline& timeline, store::QueryBudget& budget);

// A process's thread of that number; null: there is none.
TimelineThread* find_thread(TimelineProcess& process, uint32_t tid);

}  // namespace fathom::query
