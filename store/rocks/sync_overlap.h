// SyncOverlap: work of a thread during its sync of the log.
//
// Purpose: one exporter waits for the disk and for the store's work before and after the sync. Work that does not
// depend on the sync is done during it. RocksDB writes the log, syncs it and fills its memory in one call. A
// SyncOverlap therefore holds the work, and the log's file runs it (store/rocks/log_witness.cc) while the disk writes
// the log's pages. On ext4, about 100 us of work cost nothing. Other writers, flushes and ingestions wait for the work,
// so it must be short. It must not write to RocksDB. Thread safety: belongs to the thread that made it; one at a time.
// Ownership: what the work refers to must outlive it. Errors: none; work that throws ends the process, because
// RocksDB's other writers would wait forever.
#pragma once

#include <functional>

namespace fathom::store {

class SyncOverlap {
 public:
  explicit SyncOverlap(std::function<void()> work);
  // Forgets the work.
  ~SyncOverlap();
  SyncOverlap(const SyncOverlap&) = delete;
  SyncOverlap& operator=(const SyncOverlap&) = delete;

  // The calling thread's, if its work is not done.
  static SyncOverlap* pending();
  // Does the work, unless a sync did. RocksDB also lets another thread sync for this one.
  void run() noexcept;

 private:
  std::function<void()> work_;
};

}  // namespace fathom::store
