// What captures say of one process's threads: events, scheduling states, system calls, page faults.
//
// Rules: where several captures of a process saw the same, one tells of it (capture_parts.h); a system call that was
// under way in the earlier one and is over in the later is told once. A thread that serves the trace is told
// of while it served it: from the earliest to the latest of its spans and events of the trace. With `all` every thread,
// and all of the windows. Thread safety: a plain function. Ownership: views into the timeline's captures.
#pragma once

#include <optional>
#include <set>

#include "base/result.h"
#include "query/timeline/timeline_query.h"

namespace fathom::query {

// What of a trace is asked for.
struct TimelineScope {
  std::optional<std::set<SpanId>> family;  // only these spans
  uint64_t begin_unix_nano = 0;            // and only this time
  uint64_t end_unix_nano = UINT64_MAX;
  bool all = false;
  // Of a thread's system calls, so many at most will be told, half of them its first and half its last: others get no
  // totals.
  size_t most_items = SIZE_MAX;

  bool wants(const SpanId& span) const { return family ? family->contains(span) : !span.is_zero(); }
};

// Whose threads are there already (span_places.h). Errors: the budget's.
Result<> fill_threads(Timeline& timeline, TimelineProcess& process, const TimelineScope& scope,
                      store::QueryBudget& budget);

// What a wait of this interval was in: the name of the system call around it, "page fault" when one came right before
// it; empty: not known. `calls` are by begin.
std::string_view waited_in(const std::vector<TimelineCall>& calls, const StateInterval& interval);

}  // namespace fathom::query
