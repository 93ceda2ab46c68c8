// Database: the RocksDB instance of a data directory, its column families and how each is tuned.
//
// Purpose: the one place that knows RocksDB's options. Thread safety: all of it after open(). Ownership: closes on
// destruction. Errors: open() tells "in use" (kUnavailable) from "newer version" (kUnsupported) from damage (kCorrupt).
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <rocksdb/db.h>

#include "base/result.h"
#include "store/rocks/ballast.h"
#include "store/rocks/database_options.h"
#include "store/rocks/guarded_env.h"
#include "store/rocks/live_partitions.h"
#include "store/rocks/rocks_store.h"
#include "store/wal/log_repair.h"

namespace fathom::store {

enum class Family {
  kDefault,
  kStage,
  kIdentity,
  kOperation,
  kSegment,
  kBlock,
  kTrace,
  kSlow,
  kLatency,
  kStraddle,
  kCorrected,
  kCapture,
  kCaptureIndex,
};
inline constexpr size_t kFamilies = static_cast<size_t>(Family::kCaptureIndex) + 1;

// The version of the data directories that this program writes.
int newest_format_version();

// The directories of RocksDB's logs and of damaged logs.
LogPlaces log_places(const std::string& path);

Error from_status(const rocksdb::Status& status, const std::string& doing);

class Database {
 public:
  static Result<std::unique_ptr<Database>> open(const RocksOptions& options,
                                                const std::shared_ptr<const LivePartitions>& live_partitions);
  // Changes nothing in the directory and needs no lock; options.env must reject writes. Damaged sorted files fail when
  // they are read, not here. The logs' rows are read into memory. Directories of format 5 and older lack the families
  // of captures.
  static Result<std::unique_ptr<Database>> open_read_only(const RocksOptions& options,
                                                          const std::shared_ptr<const LivePartitions>& live_partitions);
  ~Database();

  rocksdb::DB& db() { return *db_; }
  bool has(Family which) { return family(which) != nullptr; }
  rocksdb::ColumnFamilyHandle* family(Family family) { return handles_[static_cast<size_t>(family)]; }
  // The options a sorted file for this family must be written with.
  const rocksdb::Options& file_options(Family family) const { return options_[static_cast<size_t>(family)]; }
  // Whether this open cut off an incomplete end of a log. What a row there named may exist without the row.
  bool log_was_cut() const { return log_was_cut_; }
  // All that was written before is durable afterwards. Unlike RocksDB's SyncWAL() it answers, rather than end the
  // process, when the log has failed.
  rocksdb::Status sync_log();
  // Writes what is in RocksDB's memory to files, of every family: one that is left out would keep all of the log.
  rocksdb::Status flush();
  // Writes the memory of these families to files, so that damage to the log cannot destroy their rows.
  rocksdb::Status flush(const std::vector<Family>& families);
  // What flush() writes at most, if the rows of the stage that are left have so many bytes.
  uint64_t flush_bytes(uint64_t stage_bytes);
  // Files that compaction has yet to merge; each costs every look-up a little.
  uint64_t unmerged_files(Family family);
  // What the rows take on the disk: sorted files as of now, and the log as measure_log() found it last. Files that
  // somebody still reads count though nothing of them is left to delete; without those it is what deleting can change.
  uint64_t disk_bytes();
  uint64_t disk_bytes_in_use();
  uint64_t file_bytes(Family family);  // that are in use
  // Reads the directory; what cannot be read stays as it was.
  void measure_log();
  // Writes how much of the logs is synced, so that a start notices if a disk loses a part of that.
  void note_synced_logs();
  // Beyond this size of the logs, RocksDB flushes the families with the oldest rows at the next write. Only with room
  // on the disk: a flush without room stops RocksDB. An open begins with log_limit() (disk_space.h).
  void limit_log(uint64_t bytes);
  // Takes what is deleted out of a family's files; returns when it is done, or stop_compacting() was called.
  rocksdb::Status compact(Family family);
  void stop_compacting() { db_->DisableManualCompaction(); }
  // Rows, those included that compaction has yet to take away; an estimate.
  uint64_t rows(Family family);
  // RocksDB's calls of these names, one at a time and not beside flush(). An ingestion of RocksDB 7.8 reads two
  // versions of a family: the last one that was committed, and the one that is installed for readers. It ends the
  // process if another change was committed and is not installed yet. This lock excludes our own changes. Each family
  // that segments are ingested into excludes RocksDB's: it has universal compaction, or no compaction
  // (docs/rocksdb.md). ingest() also writes the memory of its families to files first, and fails if that fails.
  rocksdb::Status ingest(const std::vector<rocksdb::IngestExternalFileArg>& args);
  rocksdb::Status delete_files(Family family, const std::string& begin, const std::string& end);
  // A fresh name for a file that will be ingested.
  std::string ingest_path(std::string_view name) const;
  const std::string& path() const { return path_; }
  const Ballast& ballast() const { return ballast_; }
  // For the few small writes by which retention frees much: releases the ballast when the disk is full. kUnavailable:
  // there is no room even so. Its message names what is missing.
  Result<> make_small_room();
  // False once a fault of the disk has stopped RocksDB: 7.8 keeps a part of that state even after Resume(), and an
  // ingestion would then end the process (its file numbers begin at zero). Opening the store again is the only cure.
  bool may_ingest() const { return !faults_->stopped; }
  Result<> check_not_stopped() const;
  // What has stopped RocksDB: kCorrupt, with advice, if it met damage; it would meet it again after each start.
  Error why_stopped() const;
  bool has_fault() const { return faults_->stopped || faults_->paused; }
  // Goes on after a fault that did not stop all of RocksDB. Must not be called when one has.
  rocksdb::Status resume();

 private:
  uint64_t sum_and_log(const std::string& property);
  rocksdb::Status verify_files(const std::vector<rocksdb::IngestExternalFileArg>& args) const;
  explicit Database(std::string path) : path_(std::move(path)), ballast_(path_) {}

  const std::string path_;
  const Ballast ballast_;
  std::shared_ptr<DatabaseFaults> faults_ = std::make_shared<DatabaseFaults>();
  std::atomic<uint64_t> log_bytes_{0};
  uint64_t log_limit_ = 0;
  std::mutex changing_files_;
  std::unique_ptr<GuardedEnv> env_;
  std::unique_ptr<rocksdb::DB> db_;
  bool log_was_cut_ = false;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilies> handles_{};
  std::array<rocksdb::Options, kFamilies> options_;
};

}  // namespace fathom::store
