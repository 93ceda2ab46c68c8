// Maintenance: the store's background threads. One seals generations, one watches the
// disk, one applies retention.
//
// Thread safety: wake() and the drop and settle calls from any thread. Ownership: the engine and the committer outlive
// it. Errors: sealing that fails is tried again, with a growing pause; what it holds stays durable and searchable
// meanwhile. Damage to older spans does not stop it (segment_rows.h). Losses: retention is counted
// (fathom_dropped_spans_total{reason}).
#pragma once

#include <atomic>
#include <mutex>

#include "store/rocks/committer.h"
#include "store/rocks/engine.h"
#include "store/rocks/retention.h"
#include "store/rocks/scheduler.h"
#include "store/rocks/upgrade_keeper.h"

namespace fathom::store {

class Maintenance {
 public:
  Maintenance(Engine& engine, Committer& committer);
  ~Maintenance();

  // Before the committer starts; start() afterwards.
  Result<> recover() { return retention_.recover(); }
  void start();
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
  Result<> room_to_seal(const Generation& generation);
  bool seal_oldest();
  Result<SegmentInfo> seal(const Generation& generation, uint32_t number, ViewPtr view);
  void note_failed_seal(const Error& why);
  void run_watching();
  void run_retention();
  void watch_disk();
  bool resume();
  bool make_recovered_durable();
  void apply_retention();
  void limit_log();
  void forget_operations();
  uint32_t beyond_age(uint64_t received_unix_nano) const;
  uint64_t bytes_beyond_size() const;
  Retention::Drop beyond_size(const View& view) const;
  Retention::Drop beyond_size_unsealed();
  void keep_to_size();
  bool reclaim();
  bool has_leftover_traces() const;
  Result<> drop(Retention::Drop drop);
  Result<> drop_locked(const Retention::Drop& drop);
  Result<> drop_aged(uint32_t through, uint64_t received_before);
  size_t frozen_through(uint32_t partition) const;
  void note_unsealed_dropped();
  void note(const Result<>& dropped);

  Engine& engine_;
  Committer& committer_;
  std::mutex mutex_;
  WaitCondition wake_;
  WaitCondition sealed_;
  WaitMutex changing_segments_;  // sealing adds them, retention takes them away
  Retention retention_;
  UpgradeKeeper upgrade_;
  bool stopping_ = false;
  bool recovered_is_durable_ = false;
  std::atomic<bool> leftovers_{false};  // of what was dropped
  std::string seal_fault_;
  int failed_seals_ = 0;                // in a row, of the thread of sealing
  bool leaves_out_unreadable_ = false;  // in the next attempt
  std::string drop_fault_;              // the last one that was logged; of the thread of retention
  StoreThread sealing_;
  StoreThread watching_;
  StoreThread retaining_;
};

}  // namespace fathom::store
