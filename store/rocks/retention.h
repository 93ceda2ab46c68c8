// Retention: partitions are dropped whole, and traces that reach over the edge are corrected.
//
// Purpose: dropping deletes files, not rows. A trace whose earlier spans are dropped with an old partition, while later
// ones stay, would still be summarised with what is gone: sealing leaves a note for each such trace (family straddle),
// and dropping turns the notes into corrected summaries, which searches consider beside the lists. Thread safety: one
// thread at a time; sealing must not run meanwhile. Errors: a failure leaves partitions or notes to the next attempt; a
// start repeats what a crash interrupted. Losses: fathom_dropped_spans_total{reason}.
#pragma once

#include "store/rocks/engine.h"

namespace fathom::store {

// Records durably that all partitions before `oldest` are dropped. Their files may be deleted afterwards.
Result<> record_drop(Engine& engine, uint32_t oldest);

class Retention {
 public:
  explicit Retention(Engine& engine) : engine_(engine) {}

  // Completes what an earlier run left, and reads the corrections that still count.
  Result<> recover();
  Result<> drop_through(uint32_t partition, const char* reason);
  // Gives back the names of operations that only dropped partitions used, once no reader can ask for them.
  void forget_operations();

 private:
  Result<> correct_traces();
  Result<> correct_trace(SealedReader& reader, const TraceId& id, rocksdb::WriteBatch& batch);
  Result<> load_corrections();
  void delete_files();

  Engine& engine_;
  std::vector<std::weak_ptr<const bool>> past_eras_;  // of views from before a drop
};

}  // namespace fathom::store
