// order_threads(): puts the threads of a timeline that explain the request first.
//
// Purpose: a process may have hundreds of threads; a reader must not search for the few that the request waited for.
// Rules: a wait is ended by its waker: the thread that released a lock, wrote to a pipe, or finished work. While a
// thread of the trace has a span, each of its waits counts for the waker. The waker's own waits in that time count for
// its wakers, and so on, at most 8 steps; each thread is followed once. Waits for a processor do not count. In each
// process, threads of the trace come first, by their first spans; then threads that ended waits, by time, the longest
// first; then the others, by tid. Thread safety: a plain function. Errors: the budget's.
#pragma once

#include "base/result.h"
#include "query/timeline/timeline.h"

namespace fathom::query {

// Requires filled threads (thread_items.h), by tid. Sets TimelineThread::ended_waits_nano.
Result<> order_threads(Timeline& timeline, store::QueryBudget& budget);

}  // namespace fathom::query
