// covering_captures(): finds captures of other requests, or that a user requested, that cover time of this trace's
// processes.
//
// Purpose: a capture has everything that its process did in its window, not only for its own trace. So it can explain a
// request without a capture, or with one that lacks a part of the time or of the events (recorded_time.h). Captures
// that a user requested may have system calls, which others lack, so these are found in any case. Thread safety: a
// plain function. Bounds: searches for kMostCoveredProcesses processes of the trace; for each, kMostExtraCaptures
// captures for what is missing, and as many requested ones. It reads the kMostLooks captures of the process (of its
// service, if no agent named the process) whose windows began last, up to ten minutes before. All searches together use
// at most a fourth of the remaining budget. Errors: the budget's, if the query must end. If a search fails, its
// processes get no further captures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/result.h"
#include "query/stores.h"
#include "query/timeline/origin.h"
#include "query/timeline/recorded_time.h"
#include "store/capture_store.h"

namespace fathom::query {

inline constexpr size_t kMostCoveredProcesses = 32;
inline constexpr size_t kMostExtraCaptures = 4;
inline constexpr size_t kMostLooks = 1000;

struct CoveringCapture {
  store::StoredCapture stored;
  Origin origin;  // the process that it covers
};

// A process of the trace, and what the trace's own captures have of it.
struct CoveredProcess {
  Period period;  // from the first begin to the last end of its spans
  RecordedTime recorded;
};

struct CoveringCaptures {
  std::vector<CoveringCapture> found;
  std::map<Origin, CoveredProcess> processes;
  std::set<Origin> not_searched;  // beyond kMostCoveredProcesses, or the search failed
  uint64_t failed_searches = 0;
};

// `own`: captures of the trace; they are not returned.
Result<CoveringCaptures> covering_captures(const Stores& stores, const store::StoredTrace& trace,
                                           const std::vector<TimelineCapture>& own, store::QueryBudget& budget);

}  // namespace fathom::query
