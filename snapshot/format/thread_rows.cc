#include "snapshot/format/thread_rows.h"

#include <algorithm>
#include <utility>

namespace fathom::snapshot {

ThreadRows::ThreadRows(const Snapshot& snapshot) : snapshot_(snapshot) {
  for (const Sideband& row : snapshot.sideband) add(row);
  if (end_tsc_ != UINT64_MAX) ++end_tsc_;
  std::ranges::stable_sort(calls_, {}, [](const Entry& entry) { return std::pair(entry.tid, entry.tsc); });
  std::ranges::stable_sort(names_, {}, &Entry::tid);
}

void ThreadRows::add(const Sideband& row) {
  end_tsc_ = std::max(end_tsc_, row.tsc);
  const bool sleeps = row.kind == SidebandKind::kLockWait;
  if (sleeps) lock_waits_.push_back(&row);
  if (sleeps || row.kind == SidebandKind::kSystemCall) calls_.push_back({row.tid, row.tsc, &row});
  if (row.kind == SidebandKind::kName) names_.push_back({row.tid, row.tsc, &row});
}

std::vector<const Sideband*> ThreadRows::of(int32_t tid) const {
  std::vector<const Sideband*> rows;
  for (const Entry& entry : std::ranges::equal_range(calls_, tid, {}, &Entry::tid)) rows.push_back(entry.row);
  return rows;
}

std::string ThreadRows::newest_name(int32_t tid) const {
  const auto found = std::ranges::equal_range(names_, tid, {}, &Entry::tid);
  return found.empty() ? "" : found.back().row->text;
}

}  // namespace fathom::snapshot
