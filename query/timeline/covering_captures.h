// covering_captures(): captures of other requests, or that a user asked for, that cover a time of this trace's
// processes.
//
// Purpose: a capture has all that its process did in its window, not only for the trace that it is kept under. A
// request that has no capture of its own, or one that covers only a part of it, is explained by those. Thread safety: a
// plain function. Bounds: kMostCoveredProcesses processes of the trace are looked at, kMostExtraCaptures captures each,
// among the kMostLooks of the process (of its service, where no agent says which process it is) whose windows began
// last, up to ten minutes before. The search takes a fourth of what is left of the budget at most. Errors: the
// budget's alone, where the query may not go on at all. A search that fails leaves its processes without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "base/result.h"
#include "query/stores.h"
#include "query/timeline/origin.h"
#include "store/capture_store.h"

namespace fathom::query {

inline constexpr size_t kMostCoveredProcesses = 32;
inline constexpr size_t kMostExtraCaptures = 4;
inline constexpr size_t kMostLooks = 1000;

struct CoveringCapture {
  store::StoredCapture stored;
  Origin origin;  // whose time it has
};

struct CoveringCaptures {
  std::vector<CoveringCapture> found;
  std::set<Origin> not_searched;  // beyond kMostCoveredProcesses, or the search failed
  uint64_t failed_searches = 0;
};

// `own`: of the trace; those that are found are other ones.
Result<CoveringCaptures> covering_captures(const Stores& stores, const store::StoredTrace& trace,
                                           const std::vector<store::StoredCapture>& own, store::QueryBudget& budget);

}  // namespace fathom::query
