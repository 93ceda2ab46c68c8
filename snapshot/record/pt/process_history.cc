#include "snapshot/record/pt/process_history.h"

#include <algorithm>
#include <utility>

namespace fathom::snapshot {
namespace {

uint64_t end_of(const Sideband& row) {
  return row.length > UINT64_MAX - row.address ? UINT64_MAX : row.address + row.length;
}

// What is left of `old` beside [begin, end).
void put_remains(std::map<uint64_t, Sideband>& maps, const Sideband& old, uint64_t begin, uint64_t end) {
  if (old.address < begin) {
    Sideband left = old;
    left.length = begin - old.address;
    maps[left.address] = left;
  }
  if (end_of(old) > end) {
    Sideband right = old;
    right.address = end;
    right.length = end_of(old) - end;
    right.file_offset += end - old.address;
    maps[right.address] = right;
  }
}

// The ranges do not overlap: only the first one may begin before `begin`.
void clear_range(std::map<uint64_t, Sideband>& maps, uint64_t begin, uint64_t end) {
  auto first = maps.lower_bound(begin);
  if (first != maps.begin() && end_of(std::prev(first)->second) > begin) --first;
  const auto last = maps.lower_bound(end);
  const std::vector<std::pair<const uint64_t, Sideband>> cleared(first, last);
  maps.erase(first, last);
  for (const auto& [address, old] : cleared) put_remains(maps, old, begin, end);
}

template <typename Map>
void append_state(const Map& map, std::vector<Sideband>& rows) {
  for (const auto& [key, row] : map) {
    rows.push_back(row);
    rows.back().tsc = 0;
  }
}

}  // namespace

void ProcessHistory::add(Sideband row) {
  if (recent_.size() < most_rows_) {
    recent_.push_back(std::move(row));
    return;
  }
  ++dropped_;
  dropped_tsc_ = std::max({dropped_tsc_, row.tsc, recent_.back().tsc});
  // A loss that a window touches must mark it: the last row stands for all that followed.
  Sideband& last = recent_.back();
  if (last.kind != SidebandKind::kLost) {
    last = Sideband{.kind = SidebandKind::kLost, .tsc = row.tsc, .length = 1};
    ++dropped_;
  }
  ++last.length;
}

std::set<int32_t> ProcessHistory::unsure() const {
  std::set<int32_t> cpus = unsure_;
  for (const auto& [cpu, last] : running_) {
    if (dropped_tsc_ > folded_tsc_) cpus.insert(cpu);
  }
  return cpus;
}

void ProcessHistory::sort_recent() {
  std::ranges::stable_sort(recent_, {}, &Sideband::tsc);
}

void ProcessHistory::fold(uint64_t horizon_tsc) {
  sort_recent();
  const auto end = std::ranges::lower_bound(recent_, horizon_tsc, {}, &Sideband::tsc);
  for (auto row = recent_.begin(); row != end; ++row) apply(*row);
  recent_.erase(recent_.begin(), end);
  folded_tsc_ = std::max(folded_tsc_, horizon_tsc);
}

void ProcessHistory::apply(const Sideband& row) {
  switch (row.kind) {
    case SidebandKind::kMap:
      return apply_map(row.flags & kFlagKernel ? kernel_maps_ : processes_[row.pid].maps, row);
    case SidebandKind::kUnmap:
      return clear_range(processes_[row.pid].maps, row.address, end_of(row));
    case SidebandKind::kName:
      return apply_name(row);
    case SidebandKind::kFork:
      return apply_fork(row);
    case SidebandKind::kExit:
      return apply_exit(row);
    case SidebandKind::kSwitchIn:
    case SidebandKind::kSwitchOut:
      running_[row.cpu] = row;
      unsure_.erase(row.cpu);
      return;
    case SidebandKind::kLost:
      return apply_lost(row);
    case SidebandKind::kKernelSymbol:
    case SidebandKind::kTextPoke:
      return apply_kernel(row);
    default:
      return;  // losses and beginnings are of the past
  }
}

void ProcessHistory::apply_map(std::map<uint64_t, Sideband>& maps, const Sideband& row) {
  if (row.length == 0) return;
  clear_range(maps, row.address, end_of(row));
  maps[row.address] = row;
}

void ProcessHistory::apply_name(const Sideband& row) {
  Process& process = processes_[row.pid];
  if (row.flags & kFlagExec) process.maps.clear();
  process.names[row.tid] = row;
  process.names[row.tid].flags &= ~uint32_t{kFlagExec};  // what it cleared is no longer there
  process.threads.try_emplace(row.tid, row);
}

void ProcessHistory::apply_fork(const Sideband& row) {
  const auto parent = processes_.find(row.other_pid);
  if (row.pid != row.other_pid && parent != processes_.end()) {
    Process& child = processes_[row.pid];
    child.maps = parent->second.maps;
    for (auto& [address, map] : child.maps) map.pid = row.pid;
  }
  if (parent != processes_.end()) {
    const auto name = parent->second.names.find(row.other_tid);
    if (name != parent->second.names.end()) {
      Sideband same = name->second;
      same.pid = row.pid;
      same.tid = row.tid;
      processes_[row.pid].names[row.tid] = same;
    }
  }
  processes_[row.pid].threads[row.tid] = row;
}

void ProcessHistory::apply_exit(const Sideband& row) {
  const auto found = processes_.find(row.pid);
  if (found == processes_.end()) return;
  found->second.names.erase(row.tid);
  found->second.threads.erase(row.tid);
  if (found->second.threads.empty()) processes_.erase(found);
}

void ProcessHistory::apply_kernel(const Sideband& row) {
  auto& rows = row.kind == SidebandKind::kTextPoke ? text_pokes_ : kernel_symbols_;
  if (row.flags & kFlagGone)
    rows.erase(row.address);
  else
    rows[row.address] = row;
}

void ProcessHistory::apply_lost(const Sideband& row) {
  if (row.cpu >= 0) unsure_.insert(row.cpu);
  for (const auto& [cpu, last] : running_) {
    if (row.cpu < 0) unsure_.insert(cpu);
  }
}

// A thread without a name is told by its beginning, so that the process is not thought to end with the others.
void ProcessHistory::append_process(int32_t pid, const Process& process, std::vector<Sideband>& rows) {
  append_state(process.names, rows);
  append_state(process.maps, rows);
  for (const auto& [tid, began] : process.threads) {
    if (process.names.contains(tid)) continue;
    rows.push_back({.kind = SidebandKind::kFork, .pid = pid, .tid = tid, .other_pid = pid});
  }
}

std::vector<Sideband> ProcessHistory::rows() const {
  std::vector<Sideband> rows;
  append_state(kernel_maps_, rows);
  append_state(kernel_symbols_, rows);
  append_state(text_pokes_, rows);
  for (const auto& [pid, process] : processes_) append_process(pid, process, rows);
  append_state(running_, rows);
  const size_t state = rows.size();
  rows.insert(rows.end(), recent_.begin(), recent_.end());
  std::stable_sort(rows.begin() + static_cast<ptrdiff_t>(state), rows.end(),
                   [](const Sideband& one, const Sideband& other) { return one.tsc < other.tsc; });
  return rows;
}

}  // namespace fathom::snapshot
