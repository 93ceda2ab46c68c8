// RepairTarget: the new data directory of a repair, while it is being filled.
//
// Purpose: where the rows that a repair reads are written, and what is lost is recorded. The directory is
// NEW.unfinished until finish() renames it. Thread safety: one thread. Ownership: owns the open database. Errors: of
// the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/write_batch.h>

#include "store/rocks/engine.h"
#include "store/rocks/loss_record.h"
#include "store/verify/repair.h"
#include "store/verify/repair_mark.h"
#include "store/verify/repaired_segment.h"

namespace fathom::store {

class RepairTarget {
 public:
  // The name of the directory until finish().
  static std::string unfinished(const std::string& to);
  // Removes what an earlier run left of NEW.unfinished.
  static Result<std::unique_ptr<RepairTarget>> create(const std::string& to, RepairSource source);

  const std::string& path() const { return engine_.options.path; }
  Engine& engine() { return engine_; }

  // Rows that are copied as they are.
  Result<> put(Family family, std::string_view key, std::string_view value);
  Result<> flush_rows();

  uint32_t operation_of(const StoredRow& row);
  // Seals the rows of a segment under its old number.
  Result<> seal(const SegmentInfo& info, RepairedSegment& rows);
  Result<> record_loss(const std::string& name, const std::vector<RecordedLoss>& losses);
  // Makes everything durable and closes the store.
  Result<> close();
  // Records whether something was lost, makes every file and directory durable, and gives the directory its name.
  Result<> finish(const std::string& to, bool is_intact, const SyncPath& sync);

 private:
  RepairTarget(RocksOptions options, RepairSource source) : engine_(std::move(options)), source_(std::move(source)) {}
  Result<> write_operations();
  std::optional<TraceExtent> find_older(SealedReader& older, const TraceId& id);

  Engine engine_;
  const RepairSource source_;
  rocksdb::WriteBatch rows_;
  Catalogue::Hold hold_;
};

}  // namespace fathom::store
