// StoreSource: a data directory that a tool reads and does not change, damaged or not.
//
// Purpose: what verification and repair share. It keeps servers away, reads the manifest and the logs from end to end,
// and opens RocksDB over the directory, in which damaged logs are replaced by temporary copies of their intact records,
// as a start of the server would replace them. The copies are in a temporary directory of their own.
// Thread safety: one thread. Ownership: owns the lock, the copies and the database. Memory: RocksDB reads the rows of
// the logs into memory (256 MiB of them unless --retention-bytes is small). Errors: kUnavailable: in use; kInvalid: not
// a data directory.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "store/rocks/database.h"
#include "store/verify/directory_lock.h"
#include "store/verify/read_only_files.h"
#include "store/wal/log_losses.h"
#include "store/wal/log_state.h"
#include "store/wal/manifest_repair.h"

namespace fathom::store {

class StoreSource {
 public:
  static Result<std::unique_ptr<StoreSource>> open(const std::string& path);
  ~StoreSource();
  StoreSource(const StoreSource&) = delete;
  StoreSource& operator=(const StoreSource&) = delete;

  const std::string& path() const { return path_; }
  rocksdb::Env& env() { return *env_; }
  const Result<ManifestState>& manifest() const { return manifest_; }
  const std::vector<LogState>& logs() const { return logs_; }
  // The losses in a log of the store.
  Result<std::vector<LogLoss>> losses_of_log(const LogState& log);

  Result<> open_database();
  // After open_database() failed: if CURRENT is damaged, opens the manifest that it should name; if that has a wrong
  // bit, opens a corrected copy. Returns what it did, in words; kCorrupt if that does not help.
  Result<std::string> open_with_another_manifest();
  // Instead of open_database(), where a file without which RocksDB cannot read the others is damaged: makes a new
  // manifest of the intact sorted files, in `scratch`, and opens that. Sorted files with damage are left out, and, if
  // a database is open, files that its manifest does not name.
  Result<> rebuild_database(const std::string& scratch);
  bool has_database() const { return database_ != nullptr; }
  Database& database() { return *database_; }
  const LivePartitions& live() const { return *live_; }
  LivePartitions& live() { return *live_; }

  // Of the sorted files in the directory, whether the manifest names them or not.
  std::vector<std::string> sorted_files() const;

 private:
  StoreSource(std::string path, DirectoryLock lock);
  Result<> find_logs();
  Result<std::vector<LogLoss>> loss_of_missing(const LogState& log, uint32_t stage) const;
  Result<> copy_damaged(const LogState& log);
  Result<> copy_corrected_headers();
  Result<> copy_synced_manifest();
  std::vector<std::string> possible_manifests();
  Result<> open_manifest(const std::string& name);
  std::string describe_manifest(const Result<ManifestState>& found) const;
  Result<> replace_current(const std::string& name);
  Result<bool> correct_manifest();
  const std::string& manifest_file() const;
  std::set<std::string> live_files() const;
  bool has_live_files() const;
  Result<std::string> temporary_path(const std::string& name);
  RocksOptions database_settings(const std::string& path) const;

  const std::string path_;
  DirectoryLock lock_;
  std::shared_ptr<ReadOnlyFiles> files_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::Env> rebuilt_env_;  // of rebuild_database()
  std::string temporary_;                      // a directory; empty: not made
  Result<ManifestState> manifest_;
  std::string corrected_manifest_;  // the path of the copy to read instead; empty: none
  size_t corrected_bits_ = 0;
  std::vector<LogState> logs_;
  std::shared_ptr<LivePartitions> live_ = std::make_shared<LivePartitions>();
  std::unique_ptr<Database> database_;
};

// How findings name a part of a file, and the loss of a part of a log or of all of it.
std::string at_byte(const std::string& file, const LogRange& range);
std::string place_of_loss(const LogState& log, const LogLoss& loss);
std::string reason_of_loss(const LogState& log);

}  // namespace fathom::store
