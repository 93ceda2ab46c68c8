// SyncOverlap: what a thread does while the disk writes the log that the thread syncs.
//
// Purpose: one exporter waits for the disk and for what the store does before and after it. What does not depend on the
// sync is done during it. RocksDB writes the log, syncs it and fills its memory in one call; so the work is left here,
// and the log's file calls it (store/rocks/log_witness.cc). The disk then writes the log's pages meanwhile. Measured
// with ext4: about 100 us of work cost nothing. Other writers, flushes and ingestions wait for the work, so it must be
// short. It must not write to RocksDB. Thread safety: belongs to the thread that made it; one at a time. Ownership:
// what the work refers to must outlive it. Errors: none; work that throws ends the process, because RocksDB's other
// writers would wait forever.
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
