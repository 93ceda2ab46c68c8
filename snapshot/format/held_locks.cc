#include "snapshot/format/held_locks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "snapshot/format/thread_activity.h"

namespace fathom::snapshot {
namespace {

// A list of distinct locks in the order of add(), each with the row of its first waiter.
class LockList {
 public:
  explicit LockList(const ThreadRows& rows) : rows_(rows) {}

  void add(const Sideband& wait) {
    const auto [place, is_new] = places_.try_emplace({wait.other_tid, wait.address}, locks_.size());
    if (is_new) {
      locks_.push_back({wait.other_tid, rows_.newest_name(wait.other_tid), wait.text, wait.address, {}});
      waits_.push_back(&wait);
    }
    const size_t number = place->second;
    if (waiters_.insert({number, wait.tid}).second) locks_[number].waiters.push_back(wait.tid);
  }

  std::vector<HeldLock> take() {
    for (size_t i = 0; i < std::min(locks_.size(), kMostFollowedLocks); ++i) {
      locks_[i].chain = holder_chain(rows_, *waits_[i]);
    }
    return std::move(locks_);
  }

 private:
  const ThreadRows& rows_;
  std::map<std::pair<int32_t, uint64_t>, size_t> places_;  // by holder and address
  std::set<std::pair<size_t, int32_t>> waiters_;
  std::vector<HeldLock> locks_;
  std::vector<const Sideband*> waits_;
};

// Sleeps of the trigger's thread for locks, the longest first.
std::vector<ThreadCall> own_sleeps(const ThreadRows& rows) {
  std::vector<ThreadCall> sleeps = calls_of(rows, rows.snapshot().trigger.tid);
  std::erase_if(sleeps, [](const ThreadCall& call) { return call.lock == nullptr; });
  std::ranges::stable_sort(sleeps, std::ranges::greater(), &ThreadCall::measured_ticks);
  return sleeps;
}

std::string thread_text(int32_t tid, const std::string& name) {
  return "thread " + std::to_string(tid) + (name.empty() ? "" : " (" + name + ")");
}

// The locks that the holder waits for along its chain, and the system call of the last holder.
std::string chain_text(const HolderChain& chain) {
  std::string text;
  for (const HolderLink& link : chain.links) {
    text += text.empty() ? ", and waits itself for a " : ", which waits for a ";
    text += link.lock + " that " + thread_text(link.holder, link.holder_name) + " holds";
  }
  if (chain.is_deadlock) return text + ": a deadlock";
  if (chain.is_cut) return text + ", which waits for others";
  if (chain.system_call.empty()) return text;
  return text + (text.empty() ? ", and is in " : ", which is in ") + chain.system_call;
}

}  // namespace

std::vector<HeldLock> held_locks(const Snapshot& snapshot) {
  const ThreadRows rows(snapshot);
  LockList locks(rows);
  for (const ThreadCall& sleep : own_sleeps(rows)) locks.add(*sleep.lock);
  for (const Sideband* wait : rows.lock_waits()) locks.add(*wait);
  return locks.take();
}

const Sideband* foremost_wait(const ThreadRows& rows) {
  const std::vector<ThreadCall> sleeps = own_sleeps(rows);
  if (!sleeps.empty()) return sleeps.front().lock;
  return rows.lock_waits().empty() ? nullptr : rows.lock_waits().front();
}

std::string held_lock_text(const HeldLock& lock) {
  std::string text = thread_text(lock.holder, lock.holder_name) + " holds a " + lock.lock + " that ";
  const size_t others = lock.waiters.size() - 1;
  text += "thread " + std::to_string(lock.waiters.front());
  text += others == 0 ? " waits for"
                      : " and " + std::to_string(others) + (others == 1 ? " other" : " others") + " wait for";
  return text + chain_text(lock.chain) + " (--tid " + std::to_string(lock.blocking_thread()) + " shows it)";
}

std::vector<int32_t> foremost_threads(const Snapshot& snapshot) {
  std::vector<int32_t> tids;
  const auto add = [&](int32_t tid) {
    if (tid >= 0 && std::ranges::find(tids, tid) == tids.end()) tids.push_back(tid);
  };
  for (const HeldLock& lock : held_locks(snapshot)) {
    for (auto link = lock.chain.links.rbegin(); link != lock.chain.links.rend(); ++link) add(link->holder);
    add(lock.holder);
  }
  add(snapshot.trigger.tid);
  return tids;
}

}  // namespace fathom::snapshot
