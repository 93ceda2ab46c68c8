// held_locks(): what the recorder saw of threads that slept for a lock when a window began, or went to sleep within it.
//
// Purpose: one wording of who waits for whom, for answers and for the recorder's own report. Thread safety: pure
// functions. Errors: none; names are as recorded, and not escaped. Chains of holders are followed for the first
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
  HolderChain chain = {};        // the locks that the holder waited for while the first waiter did

  // The thread that keeps the first waiter waiting: the last one of the chain.
  int32_t blocking_thread() const { return end_of_chain(chain, holder); }
};

// First the locks that the trigger's thread slept for: the longest sleep first, sleeps without a recorded end last.
// Then the locks of other threads, in the order of recording.
std::vector<HeldLock> held_locks(const Snapshot& snapshot);

// A sleep for the first of held_locks(), without the work for the others; nullptr: there is none.
const Sideband* foremost_wait(const ThreadRows& rows);

// "thread 12 (shop) holds a mutex that thread 7 and 2 others wait for (--tid 12 shows it)", or, with a chain, "... wait
// for, and waits itself for a mutex that thread 15 (log) holds, which is in fsync (--tid 15 shows it)"
std::string held_lock_text(const HeldLock& lock);

// The threads that explain a slow request: for each lock in the order above, the threads of its chain from the last one
// to the holder; then the trigger's thread.
std::vector<int32_t> foremost_threads(const Snapshot& snapshot);

}  // namespace fathom::snapshot
