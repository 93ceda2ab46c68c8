#include "snapshot/format/held_locks.h"

#include <algorithm>

namespace fathom::snapshot {
namespace {

// The newest name; a thread may have several.
std::string name_of(const Snapshot& snapshot, int32_t tid) {
  std::string name;
  for (const Sideband& row : snapshot.sideband) {
    if (row.kind == SidebandKind::kName && row.tid == tid) name = row.text;
  }
  return name;
}

HeldLock& lock_of(std::vector<HeldLock>& locks, const Snapshot& snapshot, const Sideband& row) {
  const auto same = [&](const HeldLock& lock) { return lock.holder == row.other_tid && lock.address == row.address; };
  const auto found = std::ranges::find_if(locks, same);
  if (found != locks.end()) return *found;
  locks.push_back({row.other_tid, name_of(snapshot, row.other_tid), row.text, row.address, {}});
  return locks.back();
}

bool frees(const HeldLock& lock, int32_t tid) {
  return !lock.waiters.empty() && lock.waiters.front() == tid;
}

}  // namespace

std::vector<HeldLock> held_locks(const Snapshot& snapshot) {
  std::vector<HeldLock> locks;
  for (const Sideband& row : snapshot.sideband) {
    if (row.kind != SidebandKind::kLockWait) continue;
    std::vector<int32_t>& waiters = lock_of(locks, snapshot, row).waiters;
    if (std::ranges::find(waiters, row.tid) != waiters.end()) continue;
    waiters.insert(row.tid == snapshot.trigger.tid ? waiters.begin() : waiters.end(), row.tid);
  }
  std::ranges::stable_partition(locks, [&](const HeldLock& lock) { return frees(lock, snapshot.trigger.tid); });
  return locks;
}

std::string held_lock_text(const HeldLock& lock) {
  std::string text = "thread " + std::to_string(lock.holder);
  if (!lock.holder_name.empty()) text += " (" + lock.holder_name + ")";
  text += " holds a " + lock.lock + " that ";
  const size_t others = lock.waiters.size() - 1;
  text += "thread " + std::to_string(lock.waiters.front());
  text += others == 0 ? " waits for"
                      : " and " + std::to_string(others) + (others == 1 ? " other" : " others") + " wait for";
  return text + " (--tid " + std::to_string(lock.holder) + " shows it)";
}

std::vector<int32_t> foremost_threads(const Snapshot& snapshot) {
  std::vector<int32_t> tids;
  const auto add = [&](int32_t tid) {
    if (tid >= 0 && std::ranges::find(tids, tid) == tids.end()) tids.push_back(tid);
  };
  for (const HeldLock& lock : held_locks(snapshot)) add(lock.holder);
  add(snapshot.trigger.tid);
  return tids;
}

}  // namespace fathom::snapshot
