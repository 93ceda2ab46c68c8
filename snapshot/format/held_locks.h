// held_locks(): what the recorder saw of threads that slept for a lock when a window began, or went to sleep within it.
//
// Purpose: one wording of who waits for whom, for answers and for the recorder's own report. Thread safety: pure
// functions. Errors: none; names are as recorded, and not yet harmless. Chains of holders are followed for the first
// kMostFollowedLocks. Work: one pass over all rows, and the chains'.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/format/holder_chain.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

inline constexpr size_t kMostFollowedLocks = 16;

struct HeldLock {
  int32_t holder = -1;
  std::string holder_name;  // empty: not known
  std::string lock;         // "mutex"
  uint64_t address = 0;
  std::vector<int32_t> waiters;  // each once; the trigger's thread first
  HolderChain chain = {};        // whom the holder waits for itself, while the first waiter does

  // The thread that keeps the first waiter waiting: at the end of the chain.
  int32_t blocking_thread() const { return end_of_chain(chain, holder); }
};

// First those that the trigger's thread slept for: the one of its longest sleep before the others, those whose sleeps
// have no recorded end last; then the other threads', in the order of recording.
std::vector<HeldLock> held_locks(const Snapshot& snapshot);

// A sleep for the first of held_locks(), without the work for the others; nullptr: there is none.
const Sideband* foremost_wait(const ThreadRows& rows);

// "thread 12 (shop) holds a mutex that thread 7 and 2 others wait for (--tid 12 shows it)", or, with a chain, "... wait
// for, and waits itself for a mutex that thread 15 (log) holds, which is in fsync (--tid 15 shows it)"
std::string held_lock_text(const HeldLock& lock);

// Whose doings explain a slow request, before the bystanders': of each lock, as above, the end of its chain, and back
// to its holder; then the trigger's own.
std::vector<int32_t> foremost_threads(const Snapshot& snapshot);

}  // namespace fathom::snapshot
