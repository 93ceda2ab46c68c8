// ThreadRows: the rows of a snapshot that tell what threads did, by thread.
//
// Purpose: questions about one thread after another, as along a chain of holders, cost one pass over all rows together.
// Thread safety: const functions from any thread. Ownership: points into the snapshot, which outlives it and does not
// change meanwhile. Memory: 24 bytes for each row of a system call, a sleep for a lock or a name, and 8 more for a
// sleep. Errors: none; rows come from strangers, so any order and any numbers are taken.
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
  // Rows of kSystemCall and kLockWait, in the order of time; equal ones in the order of recording. While it is being
  // recorded, a snapshot's rows are not in the order of time yet.
  std::vector<const Sideband*> of(int32_t tid) const;
  // Rows of kLockWait, in the order of recording.
  const std::vector<const Sideband*>& lock_waits() const { return lock_waits_; }
  // The newest name of a thread; it may have had several. Empty: not known.
  std::string newest_name(int32_t tid) const;
  // Behind everything that was recorded.
  uint64_t end_tsc() const { return end_tsc_; }

 private:
  // With what it is sorted by: the rows themselves are large.
  struct Entry {
    int32_t tid = 0;
    uint64_t tsc = 0;
    const Sideband* row = nullptr;
  };

  void add(const Sideband& row);

  const Snapshot& snapshot_;
  std::vector<Entry> calls_;  // and sleeps; by thread and time
  std::vector<Entry> names_;  // by thread, each in the order of recording
  std::vector<const Sideband*> lock_waits_;
  uint64_t end_tsc_ = 0;
};

}  // namespace fathom::snapshot
