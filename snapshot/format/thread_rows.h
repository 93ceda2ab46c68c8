// ThreadRows: an index of a snapshot's rows about threads, by thread.
//
// Purpose: the rows of several threads, as along a chain of holders, cost one pass over all rows. Thread safety: const
// functions from any thread. Ownership: points into the snapshot, which must outlive it and not change. Memory: 24
// bytes per row of a system call, a sleep for a lock or a name, and 8 more per sleep. Errors: none; rows are not
// trusted, so any order and any numbers are accepted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

class ThreadRows {
 public:
  explicit ThreadRows(const Snapshot& snapshot);

  const Snapshot& snapshot() const { return snapshot_; }
  // Rows of kSystemCall and kLockWait, sorted by time; rows of the same time in the order of recording. During
  // recording, the snapshot's own rows are not sorted by time yet.
  std::vector<const Sideband*> of(int32_t tid) const;
  // Rows of kLockWait, in the order of recording.
  const std::vector<const Sideband*>& lock_waits() const { return lock_waits_; }
  // The newest name of a thread, which may have had several. Empty: unknown.
  std::string newest_name(int32_t tid) const;
  // After everything that was recorded.
  uint64_t end_tsc() const { return end_tsc_; }

 private:
  // The keys are copied because the rows are large.
  struct Entry {
    int32_t tid = 0;
    uint64_t tsc = 0;
    const Sideband* row = nullptr;
  };

  void add(const Sideband& row);

  const Snapshot& snapshot_;
  std::vector<Entry> calls_;  // system calls and sleeps, by thread and time
  std::vector<Entry> names_;  // by thread, then in the order of recording
  std::vector<const Sideband*> lock_waits_;
  uint64_t end_tsc_ = 0;
};

}  // namespace fathom::snapshot
