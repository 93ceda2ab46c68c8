// Which process and which thread a span of the trace ran on.
//
// Rules: a span belongs to the process that its agent says (origin.h). Where none says it, to the process of a capture
// that mentions it, or mentions another span of the same resource, or whose service, process id and host are its
// resource's (a host that nobody knows, as a container's, may be any); else to a process of its resource's own, of
// which nothing is captured. Other processes may work under a span, as a child of fork() does: what their captures have
// under it says nothing of its thread. Its thread is the one that it names (named_threads.h), also where no capture has
// anything of that thread. Where it names none, or two, or one that no capture of its process knows, captures come
// first: its thread is the one that had it open when a capture was made, or else the first that wrote an event under
// it. Of two that it names and no capture decides between, it is the one that a capture knows, or else the one that it
// started on. Without all of this it is, as a guess, the only one that ran when it began and when it ended (runners.h),
// or the only thread of its children; else it has none. Thread safety: a plain function. Ownership: views into the
// timeline's trace and captures.
#pragma once

#include "base/result.h"
#include "query/timeline/timeline.h"

namespace fathom::query {

// Fills in processes, all of their threads (with their spans only), spans without a thread, and clocks that captures
// lack. Errors: the budget's.
Result<> place_spans(Timeline& timeline, store::QueryBudget& budget);

// A process's thread of that number, while they are by tid; null: there is none.
TimelineThread* find_thread(TimelineProcess& process, uint32_t tid);

}  // namespace fathom::query
