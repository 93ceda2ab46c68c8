#include "snapshot/analyze/thread_moves.h"

#include <algorithm>

namespace fathom::snapshot {

ThreadMoves::ThreadMoves(const Snapshot& snapshot) {
  for (const Sideband& row : snapshot.sideband) {
    if (row.kind != SidebandKind::kSwitchIn || row.tid < 0) continue;
    auto& arrivals = arrivals_[row.tid];
    // Rows are sorted by tsc; one that stays says nothing new.
    if (arrivals.empty() || arrivals.back().cpu != row.cpu) arrivals.push_back({row.tsc, row.cpu});
  }
}

bool ThreadMoves::elsewhere(int32_t tid, int32_t cpu, uint64_t from_tsc, uint64_t to_tsc) const {
  const auto found = arrivals_.find(tid);
  if (found == arrivals_.end() || cpu < 0) return false;
  const auto& arrivals = found->second;
  auto at = std::upper_bound(arrivals.begin(), arrivals.end(), from_tsc,
                             [](uint64_t tsc, const Arrival& arrival) { return tsc < arrival.tsc; });
  for (; at != arrivals.end() && at->tsc <= to_tsc; ++at) {
    if (at->cpu != cpu) return true;
  }
  return false;
}

}  // namespace fathom::snapshot
