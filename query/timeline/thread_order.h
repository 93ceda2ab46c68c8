// Thread order: which threads of a timeline explain the request, and so stand first.
//
// Purpose: a process may have hundreds of threads; the few that the request waited for must not be searched among them.
// Rules: a wait is ended by its waker: the thread that released a lock, wrote to a pipe, or finished work. While a
// thread of the trace has a span, each of its waits that a thread ended counts for that thread. What that thread waited
// for meanwhile counts for its own wakers, and so on, 8 steps at most; each thread's waits are followed once. Waits for
// a processor count for nobody. Each process has the threads of the trace first, by their first spans; then those that
// ended waits, the longest time first; then the others, by tid. Thread safety: a plain function. Errors: the budget's.
#pragma once

#include "base/result.h"
#include "query/timeline/timeline.h"

namespace fathom::query {

// Of threads that are filled (thread_items.h), by tid. Fills in TimelineThread::ended_waits_nano.
Result<> order_threads(Timeline& timeline, store::QueryBudget& budget);

}  // namespace fathom::query
