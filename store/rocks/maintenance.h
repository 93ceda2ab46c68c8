// Maintenance: the store's background threads. One seals generations, one watches the
// disk, one applies retention.
//
// Thread safety: wake() and the drop and settle calls from any thread. Ownership: the engine and the committer outlive
// it. Errors: sealing that fails is tried again, with a growing pause; what it holds stays durable and searchable
// meanwhile. Losses: retention is counted (fathom_dropped_spans_total{reason}).
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "store/rocks/committer.h"
#include "store/rocks/engine.h"
#include "store/rocks/retention.h"

namespace fathom::store {

class Maintenance {
 public:
  Maintenance(Engine& engine, Committer& committer);
  ~Maintenance();

  Result<> start();
  void stop();
  // A generation waits to be sealed.
  void wake();
  Result<> drop_before(uint64_t received_unix_nano);
  // Returns when everything up to `sequence` is sealed, or cannot be for now.
  Result<> wait_sealed(uint64_t sequence);
  Result<> compact();

 private:
  void run_sealing();
  bool compaction_is_behind();
  bool seal_oldest();
  void delete_stage(const Generation& generation);
  void run_watching();
  void run_retention();
  void watch_disk();
  void apply_retention();
  void forget_operations();
  uint32_t beyond_age(uint64_t received_unix_nano) const;
  uint64_t bytes_beyond_size() const;
  uint32_t beyond_size() const;
  void keep_to_size();
  bool reclaim();
  bool has_leftover_traces() const;
  Result<> drop_partitions(uint32_t through, uint64_t received_before, const char* reason);

  Engine& engine_;
  Committer& committer_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable sealed_;
  std::mutex changing_segments_;  // sealing adds them, retention takes them away
  Retention retention_;
  bool stopping_ = false;
  std::atomic<bool> leftovers_{false};  // of what was dropped
  std::string seal_fault_;
  std::thread sealing_;
  std::thread watching_;
  std::thread retaining_;
};

}  // namespace fathom::store
