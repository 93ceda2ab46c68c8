#include "store/verify/log_replay.h"

#include "store/wal/batch_handler.h"
#include "store/wal/log_scan.h"

namespace fathom::store {

namespace {

// Repeats the entries of a batch for other families.
class Repeat : public BatchHandler {
 public:
  using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;
  explicit Repeat(const Handles& families) : families_(families) {}

  Status PutCF(uint32_t family, const Slice& key, const Slice& value) override {
    return has(family) ? out.Put(families_[family], key, value) : Status::OK();
  }
  Status DeleteCF(uint32_t family, const Slice& key) override {
    return has(family) ? out.Delete(families_[family], key) : Status::OK();
  }
  Status SingleDeleteCF(uint32_t family, const Slice& key) override { return DeleteCF(family, key); }
  Status DeleteRangeCF(uint32_t family, const Slice& begin, const Slice& end) override {
    return has(family) ? out.DeleteRange(families_[family], begin, end) : Status::OK();
  }
  Status MergeCF(uint32_t family, const Slice& key, const Slice& value) override {
    return has(family) ? out.Merge(families_[family], key, value) : Status::OK();
  }

  rocksdb::WriteBatch out;

 private:
  bool has(uint32_t family) const { return family < families_.size(); }

  const Handles& families_;
};

class Replay : public LogVisitor {
 public:
  Replay(rocksdb::DB& db, const Repeat::Handles& families) : db_(db), families_(families) {}

  Result<> on_record(std::string_view record) override {
    Repeat repeat(families_);
    // A start rejects a log with such a record; everything else in the log is worth keeping.
    if (!rocksdb::WriteBatch(std::string(record)).Iterate(&repeat).ok()) return {};
    const rocksdb::Status status = db_.Write(rocksdb::WriteOptions(), &repeat.out);
    return status.ok() ? Result<>() : Result<>(unavailable("cannot copy a log: " + status.ToString()));
  }

 private:
  rocksdb::DB& db_;
  const Repeat::Handles& families_;
};

}  // namespace

Result<> replay_logs(const std::string& directory, const std::vector<LogState>& logs, rocksdb::DB& db,
                     const std::vector<rocksdb::ColumnFamilyHandle*>& families) {
  Replay replay(db, families);
  for (const LogState& log : logs) {
    if (log.is_missing) continue;
    const std::string path = directory + "/" + log.name;
    Result<LogSummary> scanned = scan_log(*rocksdb::Env::Default(), path, replay, log.misplaced);
    if (!scanned) return scanned.error();
  }
  return {};
}

}  // namespace fathom::store
