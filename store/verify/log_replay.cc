#include "store/verify/log_replay.h"

#include <rocksdb/write_batch.h>

#include "store/wal/log_scan.h"

namespace fathom::store {

namespace {

// Repeats the entries of a batch for other families.
class Repeat : public rocksdb::WriteBatch::Handler {
 public:
  using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;
  explicit Repeat(const Handles& families) : families_(families) {}

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    return has(family) ? out.Put(families_[family], key, value) : rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t family, const rocksdb::Slice& key) override {
    return has(family) ? out.Delete(families_[family], key) : rocksdb::Status::OK();
  }
  rocksdb::Status SingleDeleteCF(uint32_t family, const rocksdb::Slice& key) override { return DeleteCF(family, key); }
  rocksdb::Status DeleteRangeCF(uint32_t family, const rocksdb::Slice& begin, const rocksdb::Slice& end) override {
    return has(family) ? out.DeleteRange(families_[family], begin, end) : rocksdb::Status::OK();
  }
  rocksdb::Status MergeCF(uint32_t family, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    return has(family) ? out.Merge(families_[family], key, value) : rocksdb::Status::OK();
  }
  void LogData(const rocksdb::Slice&) override {}

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
  Result<> on_damage(const LogRange&) override { return {}; }

 private:
  rocksdb::DB& db_;
  const Repeat::Handles& families_;
};

}  // namespace

Result<> replay_logs(const std::vector<std::string>& logs, rocksdb::DB& db,
                     const std::vector<rocksdb::ColumnFamilyHandle*>& families) {
  Replay replay(db, families);
  for (const std::string& log : logs) {
    if (Result<LogSummary> scanned = scan_log(*rocksdb::Env::Default(), log, replay); !scanned) return scanned.error();
  }
  return {};
}

}  // namespace fathom::store
