// LogWitness: a file system that lists RocksDB's logs with acknowledged records in DIR/store/synced-logs.
//
// Purpose: a start must notice a log that a disk lost or cut off (store/wal/synced_logs.h). The first sync of a log
// with records returns after the log is listed. Before that, the directory is synced, so that a power cut cannot
// remove the name of a listed log. A log leaves the list before RocksDB deletes it, and the list names a new manifest
// before CURRENT does. note_synced_bytes() writes how much of the logs is synced; call it once per second and at the
// end. It is also called before each write of a manifest: what is noted then has all rows that sorted files have.
// Otherwise the loss of a log's end could leave a batch's identity without the batch, and nobody would notice. Cost:
// three small syncs for each log with records, two when it is deleted, two when the store is opened, and two for each
// call of note_synced_bytes() after a batch. A batch costs nothing. A sync also starts the write of the log's pages
// and runs the thread's SyncOverlap, if it has one. RocksDB syncs no log that it opened again, and recycles no log, so
// only new files are watched. Thread safety and ownership: as rocksdb::FileSystemWrapper. Errors: a list that cannot
// be written fails the sync or the rename; the next sync writes it again. If a deletion cannot update the list, for
// example on a full disk, the list is removed until the next sync; if that fails, too, the log is not deleted, and
// RocksDB deletes it later. If the synced bytes cannot be written, the next call writes them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "store/wal/synced_logs.h"

namespace fathom::store {

class LogWitness : public rocksdb::FileSystemWrapper {
 public:
  // `fills_logs`: if each record is synced before it is acknowledged. Behind an end mark (store/wal/log_mark.h), a
  // damaged record counts as one that was never acknowledged.
  explicit LogWitness(const std::shared_ptr<rocksdb::FileSystem>& disk, bool fills_logs = true);
  const char* Name() const override { return "LogWitness"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  // `store`: where RocksDB keeps its logs.
  void note_synced_bytes(const std::string& store);

 private:
  friend class WitnessedLog;
  friend class WitnessedManifest;
  using SyncedBytes = std::atomic<uint64_t>;
  // False: the file lacks a log that is listed in memory.
  bool is_written() const { return is_written_.load(std::memory_order_relaxed); }
  rocksdb::IOStatus add(const std::string& store, uint64_t log);
  rocksdb::IOStatus remove(const std::string& store, uint64_t log);
  rocksdb::IOStatus add_manifest(const std::string& store, const std::string& pointer);  // with the mutex
  SyncedLogs& logs(const std::string& store);
  rocksdb::Status write(const std::string& store, const std::string& next_manifest = {});
  // The list, with what is synced now.
  SyncedLogs updated() const;

  const std::unique_ptr<rocksdb::Env> env_;
  const bool fills_logs_;
  std::mutex mutex_;
  std::optional<SyncedLogs> logs_;                                 // read when they are needed first
  std::map<uint64_t, std::shared_ptr<SyncedBytes>> synced_bytes_;  // of the logs that this process made
  std::atomic<bool> is_written_{true};
};

}  // namespace fathom::store
