// Retention: partitions are dropped whole, and traces that reach over the edge are corrected.
//
// Purpose: dropping deletes files, not rows. A trace whose earlier spans are dropped with an old partition, while later
// ones stay, would still be summarised with what is gone: sealing leaves a note for each such trace (family straddle),
// and dropping turns the notes into corrected summaries, which searches consider beside the lists. Thread safety: one
// thread at a time; sealing must not run meanwhile. Errors: a failure leaves partitions or notes to the next attempt; a
// start repeats what a crash interrupted. Losses: fathom_dropped_spans_total{reason}.
//
// Nothing is sealed for a drop, because a full disk has no room for that. Spans in memory keep their stage rows; those
// that are dropped with their partition are never sealed. A drop writes little: a batch, corrections in small batches,
// and RocksDB's notes about deleted files. For these the disk's ballast is released when it is necessary.
#pragma once

#include "store/rocks/committer.h"
#include "store/rocks/engine.h"

namespace fathom::store {

// Records durably that all partitions before `oldest` are dropped. Their files may be deleted afterwards: if damage to
// the log destroys the record, complete_lost_drops() (reconcile.h) repeats it.
Result<> record_drop(Engine& engine, uint32_t oldest, uint64_t sealed_sequence);

class Retention {
 public:
  explicit Retention(Engine& engine) : engine_(engine) {}

  // What goes: sealed partitions up to `through`, and of the generations in memory the oldest few, which must be
  // frozen. Other generations of these partitions move to the next one.
  struct Drop {
    uint32_t through = 0;
    size_t generations = 0;
    const char* reason = "";
  };

  // Before the committer starts: completes what an earlier run left, and reads the corrections that still count.
  Result<> recover();
  Result<> drop(const Drop& drop, Committer& committer);
  bool is_incomplete() const { return has_uncorrected_ || has_files_; }
  // Repeats the steps of earlier drops that failed, if there are any.
  Result<> complete(Committer& committer);
  // Gives back the names of operations that only dropped partitions used, once no reader can ask for them.
  void forget_operations();

 private:
  Result<> write_drop(const Drop& drop);
  Result<> correct_traces();
  Result<> correct_some(const ViewPtr& view, rocksdb::Iterator& notes, std::string_view end);
  Result<> correct_trace(SealedReader& reader, const TraceId& id, rocksdb::WriteBatch& batch);
  Result<> correct_oversized(SealedReader& reader, const TraceId& id, TracePart newest, rocksdb::WriteBatch& batch);
  void put_correction(const TraceId& id, const TracePart& newest, rocksdb::WriteBatch& batch);
  Result<> load_corrections();
  Result<> correct(Committer& committer, size_t dropped_generations);
  void remove_beyond(rocksdb::WriteBatch& outdated, size_t bytes);
  void delete_files();
  Result<> make_drop_durable();

  Engine& engine_;
  std::shared_ptr<const Corrections> corrections_ = std::make_shared<Corrections>();
  std::atomic<bool> has_uncorrected_{false};          // the notes of a drop are not corrections yet
  std::atomic<bool> has_files_{false};                // of dropped partitions, which could not be deleted yet
  bool is_drop_durable_ = false;                      // the record of the newest drop
  std::vector<std::weak_ptr<const bool>> past_eras_;  // of views from before a drop
};

}  // namespace fathom::store
