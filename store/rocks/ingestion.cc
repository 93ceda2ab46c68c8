// Database::ingest(). docs/rocksdb.md describes the defects of RocksDB 7.8 that it excludes.
#include <algorithm>

#include <rocksdb/snapshot.h>
#include <rocksdb/sst_file_reader.h>

#include "store/rocks/database.h"

namespace fathom::store {

namespace {

bool has_rows_in_memory(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family) {
  uint64_t active = 0, immutable = 0;
  db.GetIntProperty(family, rocksdb::DB::Properties::kNumEntriesActiveMemTable, &active);
  db.GetIntProperty(family, rocksdb::DB::Properties::kNumEntriesImmMemTables, &immutable);
  return active + immutable > 0;
}

// RocksDB 7.8 orders the files of level 0 by sequence number. A memory table with rows from before and after an
// ingestion becomes a file whose numbers enclose those of ingested files. RocksDB then rejects its flush as a
// corruption.
rocksdb::Status flush_targets(rocksdb::DB& db, const std::vector<rocksdb::IngestExternalFileArg>& args) {
  std::vector<rocksdb::ColumnFamilyHandle*> in_memory;
  for (const rocksdb::IngestExternalFileArg& arg : args) {
    if (has_rows_in_memory(db, arg.column_family)) in_memory.push_back(arg.column_family);
  }
  return in_memory.empty() ? rocksdb::Status::OK() : db.Flush(rocksdb::FlushOptions(), in_memory);
}

// RocksDB 7.8 takes the first and the last key of a file from an iterator whose errors it does not look at. If the disk
// damaged the file, the process ends, or the file gets wrong bounds, and rows disappear.
rocksdb::Status verify_file(const std::string& path, const rocksdb::Options& options) {
  rocksdb::SstFileReader reader(options);
  rocksdb::Status status = reader.Open(path);
  return status.ok() ? reader.VerifyChecksum() : status;
}

}  // namespace

rocksdb::Status Database::verify_files(const std::vector<rocksdb::IngestExternalFileArg>& args) const {
  for (const rocksdb::IngestExternalFileArg& arg : args) {
    const auto family = std::ranges::find(handles_, arg.column_family) - handles_.begin();
    for (const std::string& path : arg.external_files) {
      rocksdb::Status status = verify_file(path, options_[static_cast<size_t>(family)]);
      if (!status.ok()) return status;
    }
  }
  return rocksdb::Status::OK();
}

rocksdb::Status Database::ingest(const std::vector<rocksdb::IngestExternalFileArg>& args) {
  rocksdb::Status status = verify_files(args);
  if (!status.ok()) return status;
  std::lock_guard lock(changing_files_);
  status = flush_targets(*db_, args);
  if (!status.ok()) return status;
  // While a snapshot exists, RocksDB gives each file a sequence number of its own. It then puts the files of families
  // with universal compaction on level 0 and does not read their versions.
  const rocksdb::ManagedSnapshot snapshot(db_.get());
  return db_->IngestExternalFiles(args);
}

}  // namespace fathom::store
