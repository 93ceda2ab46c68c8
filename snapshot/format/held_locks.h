// held_locks(): what the recorder saw of threads that slept for a lock when a window began, or went to sleep within it.
//
// Purpose: one wording of who waits for whom, for answers and for the recorder's own report. Thread safety: pure
// functions. Errors: none; names are as recorded, and not yet harmless.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

struct HeldLock {
  int32_t holder = -1;
  std::string holder_name;  // empty: not known
  std::string lock;         // "mutex"
  uint64_t address = 0;
  std::vector<int32_t> waiters;  // each once; the trigger's thread first
};

// In the order of recording; the one that the trigger's thread waits for first.
std::vector<HeldLock> held_locks(const Snapshot& snapshot);

// "thread 12 (shop) holds a mutex that thread 7 and 2 others wait for (--tid 12 shows it)"
std::string held_lock_text(const HeldLock& lock);

// Whose doings explain a slow request, before the bystanders': who holds the locks, as above, then the trigger's own.
std::vector<int32_t> foremost_threads(const Snapshot& snapshot);

}  // namespace fathom::snapshot
