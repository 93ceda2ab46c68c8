// SyncOverlap: what a thread does while the disk writes the log that the thread syncs.
//
// Purpose: one exporter waits for the disk and for what the store does before and after it. What does not depend on the
// sync is done during it. RocksDB writes the log, syncs it and fills its memory in one call; so the work is left here,
// and the log's file calls it (store/rocks/log_witness.cc). The disk then writes the log's pages meanwhile. Measured
// with ext4: about 100 us of work cost nothing. Thread safety: belongs to the thread that made it; one at a time.
// Ownership: what the work refers to must outlive it. Errors: none; the work must not throw.
#pragma once

#include <functional>

namespace fathom::store {

class SyncOverlap {
 public:
  explicit SyncOverlap(std::function<void()> work);
  // Does the work if no sync did: RocksDB lets another thread sync for this one, too.
  ~SyncOverlap() { run(); }
  SyncOverlap(const SyncOverlap&) = delete;
  SyncOverlap& operator=(const SyncOverlap&) = delete;

  // The calling thread's, if its work is not done.
  static SyncOverlap* pending();
  // Once.
  void run();

 private:
  std::function<void()> work_;
};

}  // namespace fathom::store
