// Which process and which thread a span of the trace ran on.
//
// Rules: a span belongs to the process that its agent added (origin.h). If no agent added one: to the process of
// a capture that mentions the span, or another span of the same resource, or has the resource's service, process
// id and host (an unknown host, as of a container, matches any); else to a process without captures. Other
// processes may work under a span, as a child of fork() does; their captures do not decide the span's thread. The
// span's thread is the one that it names (named_threads.h), even if no capture knows that thread, and other
// threads wrote events under the span. If it names two threads, and a capture has the span on one of them (it had
// the span open, or else wrote the first event under it): that one; else the thread that the span ended on, because
// the other one goes on with other work. In a pid namespace, captures may have the program's own number of a thread;
// there the captured thread comes first if the span names two, or one that no capture of its process knows. If
// the span names no thread: the thread that captures have it on, by the same two rules. If nothing
// decides, the thread is guessed: the only one that ran at its begin and at its end (runners.h), or the only thread
// of its children; else the span has none. Thread safety: a plain function. Ownership: views into the timeline's
// trace and captures.
#pragma once

#include "base/result.h"
#include "query/timeline/timeline.h"

namespace fathom::query {

// Fills in processes, all of their threads (with their spans only), spans without a thread, and clocks that captures
// lack. Errors: the budget's.
Result<> place_spans(Timeline& timeline, store::QueryBudget& budget);

// The process's thread with this tid; null: none. The threads must be sorted by tid.
TimelineThread* find_thread(TimelineProcess& process, uint32_t tid);

}  // namespace fathom::query
