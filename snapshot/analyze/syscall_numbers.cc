#include "snapshot/analyze/syscall_numbers.h"

#include <algorithm>

namespace fathom::snapshot {

SyscallNumbers::SyscallNumbers(const Snapshot& snapshot) {
  for (const Sideband& row : snapshot.sideband) {
    if (row.kind == SidebandKind::kSystemCall) calls_[row.tid].push_back({row.tsc, static_cast<int64_t>(row.length)});
    if (row.kind == SidebandKind::kSignal) signals_[row.tid].push_back({row.tsc, static_cast<int64_t>(row.length)});
  }
}

std::optional<int64_t> SyscallNumbers::number(int32_t tid, uint64_t from_tsc, uint64_t to_tsc, int64_t by_code) const {
  const auto found = calls_.find(tid);
  if (found == calls_.end()) return std::nullopt;
  const auto& rows = found->second;
  auto at =
      std::lower_bound(rows.begin(), rows.end(), from_tsc, [](const Row& row, uint64_t tsc) { return row.tsc < tsc; });
  std::optional<int64_t> first;
  for (; at != rows.end() && at->tsc <= to_tsc; ++at) {
    if (at->value == by_code) return by_code;
    if (!first) first = at->value;
  }
  return first;
}

bool SyscallNumbers::signal_between(int32_t tid, uint64_t from_tsc, uint64_t to_tsc) const {
  const auto found = signals_.find(tid);
  if (found == signals_.end()) return false;
  const auto& rows = found->second;
  const auto at =
      std::upper_bound(rows.begin(), rows.end(), from_tsc, [](uint64_t tsc, const Row& row) { return tsc < row.tsc; });
  return at != rows.end() && at->tsc <= to_tsc;
}

}  // namespace fathom::snapshot
