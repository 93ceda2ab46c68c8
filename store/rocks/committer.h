// Committer: makes batches durable, in groups, and then searchable.
//
// Purpose: the cost of a sync is shared by whatever arrived during the one before (group commit). A batch is
// acknowledged when its group is durable and its rows are in the newest generation. Groups are committed one at a time,
// by a thread of its own; while none is under way, append_here() commits on the caller's. Back pressure: a bounded
// queue, and a bounded number of generations that wait to be sealed; beyond either, batches are refused as retryable.
// Thread safety: append() from any thread; the rest is the owner's. Ownership: the engine outlives it. Losses: none;
// refusals are counted (fathom_store_refused_total{reason}).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "store/rocks/disk_space.h"
#include "store/rocks/engine.h"
#include "store/rocks/generation.h"
#include "store/rocks/identity_log.h"
#include "store/rocks/scheduler.h"

namespace fathom::store {

class Committer {
 public:
  explicit Committer(Engine& engine);
  ~Committer();

  // Reads the stage of an earlier run back into memory, then starts the thread. `frozen` is called when a generation
  // waits to be sealed.
  Result<> start(std::function<void()> frozen);
  // Answers what is queued (by committing it), then ends the thread.
  void stop();

  void append(BatchPtr batch, std::function<void(AppendResult)> done);
  // May block until the batch is durable. A batch that comes alone is acknowledged sooner, because no other thread must
  // wake up for it. Calls `meanwhile` once before it returns, during the sync if there is one.
  void append_here(BatchPtr batch, std::function<void(AppendResult)> done, const std::function<void()>& meanwhile);
  // Freezes the newest generation if it has rows; returns, when that has happened, a sequence up to which all is
  // frozen. With `new_partition`, what comes afterwards is in a partition of its own.
  uint64_t rotate(bool new_partition = false);
  // After retention dropped partitions and the first `dropped` generations: leaves these generations out, moves the
  // others out of dropped partitions, corrects the extents of their traces, and publishes that together with `change`.
  // Sealing must not run meanwhile.
  void revise_generations(size_t dropped, const std::function<void(View&)>& change);
  // Wakes a committer that waits for a generation to be sealed.
  void notify_sealed();

 private:
  // The catalogue's numbers of a batch's rows.
  struct Numbered {
    std::vector<uint32_t> operations;
    std::map<std::string_view, uint64_t> limited;  // rows that became "__other__", by limit
    Catalogue::Hold hold;
  };
  struct Pending {
    BatchPtr batch;
    Numbered numbered;
    std::function<void(AppendResult)> done;
    uint64_t came_nano = 0;  // monotonic
    uint64_t sequence = 0;
    bool duplicate = false;
  };

  // Of the disk, when the last batch was prepared. It serves one group that comes soon.
  struct DiskMeasure {
    std::optional<DiskSpace> space;
    uint64_t taken_nano = 0;
    bool has_room_for(uint64_t bytes) const { return !space || space->has_room_for(bytes); }
  };

  using Generations = std::span<const std::shared_ptr<Generation>>;

  Result<> recover();
  Result<> write_operations();
  Numbered number_operations(const Batch& batch);
  Pending number(BatchPtr batch, std::function<void(AppendResult)> done);
  void queue(Pending pending);
  bool begin_here();
  void end_here();
  bool has_work() const { return stopping_ || rotate_wanted_ || task_ || !queue_.empty(); }
  bool has_room_in_memory() const;
  static uint64_t bytes_of(const std::vector<Pending>& group);
  void run();
  void rotate_if_wanted();
  bool take_group(std::vector<Pending>& group);
  void commit_or_queue(Pending pending, const std::function<void()>& meanwhile);
  void commit(
      std::vector<Pending>& group, const std::function<void()>& meanwhile = [] {});
  Result<> write(std::vector<Pending>& group, uint64_t now, const std::function<void()>& meanwhile);
  Result<> find_duplicates(std::vector<Pending>& group, uint64_t now);
  rocksdb::Status write_log(rocksdb::WriteBatch& batch, std::span<const Pending> group,
                            const std::function<void()>& meanwhile);
  void prepare(const Batch& batch);
  void look_up_traces(const Batch& batch);
  void publish(std::vector<Pending>& group, uint64_t now);
  static void answer(std::vector<Pending>& group, const Result<>& written);
  void insert(const BatchPtr& batch, uint64_t sequence, uint64_t received, const Numbered& numbered);
  std::optional<TraceExtent> find_older(const TraceId& id);
  std::optional<TraceExtent> find_older(const TraceId& id, SealedReader& sealed, Generations generations);
  Result<std::optional<TraceExtent>> sealed_extent(const TraceId& id, SealedReader& sealed) const;
  void run_task(std::unique_lock<std::mutex>& lock);
  void revise_now(size_t dropped, const std::function<void(View&)>& change);
  void mark_used(const Generation& generation);
  std::optional<DiskSpace> measure();
  bool room_on_disk(const std::vector<Pending>& group);
  bool room_in_memory();
  bool hot_is_full() const;
  uint64_t partition_limit() const;
  uint64_t segment_limit() const;
  void rotate_now(uint64_t now, bool new_partition = false);
  void rotate_if_due(uint64_t now);

  Engine& engine_;
  IdentityLog identities_;
  std::function<void()> frozen_;
  std::shared_ptr<Generation> hot_;
  uint32_t hot_hour_ = 0;
  uint64_t partition_bytes_ = 0;
  uint64_t next_sequence_ = 1;
  std::vector<Catalogue::Row> unwritten_operations_;
  std::unique_ptr<QueryBudget> budget_ = std::make_unique<QueryBudget>();
  std::unique_ptr<SealedReader> older_;  // for the group under way
  OlderTraces older_traces_;             // of the batch under way: its traces that are new in hot_
  std::optional<DiskMeasure> measured_;
  uint64_t reserve_bytes_ = 0;  // of the last measure of the disk; 0: none

  std::mutex mutex_;
  bool is_thread_idle_ = false;      // it waits for work
  bool is_committing_here_ = false;  // a caller of append_here() does what the thread does otherwise
  WaitCondition wake_;
  WaitCondition rotated_;
  WaitCondition sealed_;
  std::deque<Pending> queue_;
  uint64_t queued_bytes_ = 0;
  bool rotate_wanted_ = false;
  uint64_t frozen_sequence_ = 0;  // up to here, at the last wanted rotation
  bool new_partition_wanted_ = false;
  std::function<void()> task_;  // wanted by another thread, to run while no rows are inserted
  bool is_running_task_ = false;
  bool stopping_ = false;
  StoreThread thread_;
};

}  // namespace fathom::store
