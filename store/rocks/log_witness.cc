#include "store/rocks/log_witness.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "store/rocks/log_prewriter.h"
#include "store/rocks/log_space.h"
#include "store/rocks/sync_overlap.h"
#include "store/wal/log_files.h"
#include "store/wal/manifest_size.h"
#include "store/wal/replace_env_file.h"

namespace fathom::store {

namespace {

std::string directory_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

class WitnessedLog : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WitnessedLog(std::unique_ptr<rocksdb::FSWritableFile> file, LogWitness& witness, const std::string& path,
               uint64_t number, std::shared_ptr<LogWitness::SyncedBytes> synced_bytes)
      : FSWritableFileOwnerWrapper(std::move(file)),
        witness_(witness),
        store_(directory_of(path)),
        number_(number),
        synced_bytes_(std::move(synced_bytes)),
        prewriter_(*target(), *witness.target(), path, number) {
    if (!witness.fills_logs_) prewriter_.stop();
  }
  // The next start removes what stays of the fill.
  ~WitnessedLog() override { prewriter_.finish(bytes_).PermitUncheckedError(); }

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    rocksdb::IOStatus status = prewriter_.before_append(bytes_, data.size());
    return appended(data.size(), status.ok() ? target()->Append(data, options, debug) : std::move(status));
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& info, rocksdb::IODebugContext* debug) override {
    rocksdb::IOStatus status = prewriter_.before_append(bytes_, data.size());
    return appended(data.size(), status.ok() ? target()->Append(data, options, info, debug) : std::move(status));
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    const uint64_t bytes = bytes_;
    rocksdb::IOStatus status = prepare_sync(bytes);
    if (status.ok()) status = overlap(bytes, options, debug);
    return synced(bytes, status.ok() ? target()->Sync(options, debug) : std::move(status));
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    const uint64_t bytes = bytes_;
    rocksdb::IOStatus status = prepare_sync(bytes);
    return synced(bytes, status.ok() ? target()->Fsync(options, debug) : std::move(status));
  }
  rocksdb::IOStatus Close(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    prewriter_.finish(bytes_).PermitUncheckedError();
    return target()->Close(options, debug);
  }

  // With 0, RocksDB allocates nothing ahead.
  void SetPreallocationBlockSize(size_t size) override {
    target()->SetPreallocationBlockSize(has_room_to_allocate(*witness_.target(), store_, size) ? size : 0);
  }

 private:
  // A mark never names records that a failed sync may have lost.
  rocksdb::IOStatus prepare_sync(uint64_t bytes) {
    return has_failed_sync_ || !ends_with_record_ ? rocksdb::IOStatus::OK() : prewriter_.before_sync(bytes);
  }
  // Starts the write of the log's pages and runs the thread's work. An error counts as a failed sync, because a later
  // sync may not report it.
  rocksdb::IOStatus overlap(uint64_t bytes, const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) {
    SyncOverlap* work = SyncOverlap::pending();
    if (work == nullptr) return rocksdb::IOStatus::OK();
    const uint64_t begin = synced_bytes_->load(std::memory_order_relaxed);
    const uint64_t end = std::max(bytes, prewriter_.fill_end());
    rocksdb::IOStatus status = target()->RangeSync(begin, end - begin, options, debug);
    if (status.ok()) work->run();
    return status;
  }
  // RocksDB syncs between records, so the last record is complete unless a write of it failed. The bytes of a failed
  // write do not count, so their number is a lower bound.
  rocksdb::IOStatus appended(uint64_t bytes, rocksdb::IOStatus status) {
    ends_with_record_ = status.ok();
    if (status.ok()) {
      bytes_ += bytes;
    } else {
      prewriter_.stop();
    }
    return status;
  }
  // After a sync that failed, a later one that succeeds does not make the records before it durable.
  rocksdb::IOStatus synced(uint64_t bytes, rocksdb::IOStatus status) {
    if (!status.ok()) has_failed_sync_ = true;
    if (has_failed_sync_ || !ends_with_record_) return status;
    synced_bytes_->store(bytes, std::memory_order_relaxed);
    if (is_listed_ && witness_.is_written()) return status;
    status = witness_.add(store_, number_);
    is_listed_ = status.ok();
    return status;
  }

  LogWitness& witness_;
  const std::string store_;
  const uint64_t number_;
  const std::shared_ptr<LogWitness::SyncedBytes> synced_bytes_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<bool> ends_with_record_{false};
  std::atomic<bool> has_failed_sync_{false};
  std::atomic<bool> is_listed_{false};
  LogPrewriter prewriter_;
};

class WitnessedManifest : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WitnessedManifest(std::unique_ptr<rocksdb::FSWritableFile> file, LogWitness& witness, std::string store)
      : FSWritableFileOwnerWrapper(std::move(file)), witness_(witness), store_(std::move(store)) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    witness_.note_synced_bytes(store_);
    return target()->Append(data, options, debug);
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& info, rocksdb::IODebugContext* debug) override {
    witness_.note_synced_bytes(store_);
    return target()->Append(data, options, info, debug);
  }

 private:
  LogWitness& witness_;
  const std::string store_;
};

LogWitness::LogWitness(const std::shared_ptr<rocksdb::FileSystem>& disk, bool fills_logs)
    : FileSystemWrapper(disk), env_(rocksdb::NewCompositeEnv(disk)), fills_logs_(fills_logs) {}

rocksdb::IOStatus LogWitness::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                              std::unique_ptr<rocksdb::FSWritableFile>* file,
                                              rocksdb::IODebugContext* debug) {
  rocksdb::IOStatus status = target()->NewWritableFile(path, options, file, debug);
  const std::optional<uint64_t> log = log_number(name_of(path));
  if (status.ok() && is_manifest_name(name_of(path))) {
    *file = std::make_unique<WitnessedManifest>(std::move(*file), *this, directory_of(path));
  }
  if (!status.ok() || !log) return status;
  auto synced_bytes = std::make_shared<SyncedBytes>(0);
  *file = std::make_unique<WitnessedLog>(std::move(*file), *this, path, *log, synced_bytes);
  std::lock_guard lock(mutex_);
  synced_bytes_[*log] = std::move(synced_bytes);
  return status;
}

rocksdb::IOStatus LogWitness::DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                                         rocksdb::IODebugContext* debug) {
  const std::optional<uint64_t> log = log_number(name_of(path));
  const rocksdb::IOStatus removed = log ? remove(directory_of(path), *log) : rocksdb::IOStatus::OK();
  return removed.ok() ? target()->DeleteFile(path, options, debug) : removed;
}

rocksdb::IOStatus LogWitness::RenameFile(const std::string& from, const std::string& to,
                                         const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) {
  if (name_of(to) != "CURRENT") return target()->RenameFile(from, to, options, debug);
  // Otherwise another write could list the manifest before only.
  std::lock_guard lock(mutex_);
  const rocksdb::IOStatus added = add_manifest(directory_of(to), from);
  return added.ok() ? target()->RenameFile(from, to, options, debug) : added;
}

rocksdb::IOStatus LogWitness::add(const std::string& store, uint64_t log) {
  std::lock_guard lock(mutex_);
  rocksdb::Status status = sync_env_directory(*env_, store);
  if (!status.ok()) return rocksdb::status_to_io_status(std::move(status));
  logs(store).add(log);
  return rocksdb::status_to_io_status(write(store));
}

// A log that is not deleted after all stays usable, and only its loss is not noticed.
rocksdb::IOStatus LogWitness::remove(const std::string& store, uint64_t log) {
  std::lock_guard lock(mutex_);
  const bool was_listed = logs(store).remove(log);
  synced_bytes_.erase(log);
  if (!was_listed && is_written()) return rocksdb::IOStatus::OK();
  rocksdb::Status status = write(store);
  if (!status.ok()) status = SyncedLogs::remove_file(*env_, store);
  return rocksdb::status_to_io_status(std::move(status));
}

rocksdb::IOStatus LogWitness::add_manifest(const std::string& store, const std::string& pointer) {
  std::string name;
  rocksdb::Status status = rocksdb::ReadFileToString(env_.get(), pointer, &name);
  if (!status.ok()) return rocksdb::status_to_io_status(std::move(status));
  if (name.ends_with('\n')) name.pop_back();
  logs(store);
  return rocksdb::status_to_io_status(write(store, name));
}

SyncedLogs& LogWitness::logs(const std::string& store) {
  if (!logs_) logs_ = SyncedLogs::read(*env_, store);
  return *logs_;
}

rocksdb::Status LogWitness::write(const std::string& store, const std::string& next_manifest) {
  logs_ = updated();
  rocksdb::Status status = logs_->write(*env_, store, next_manifest);
  is_written_ = status.ok();
  return status;
}

SyncedLogs LogWitness::updated() const {
  SyncedLogs logs = *logs_;
  for (const auto& [log, bytes] : synced_bytes_) {
    if (logs.has(log)) logs.add(log, *bytes);
  }
  return logs;
}

// If the write fails, the file is as it was, or has the new content.
void LogWitness::note_synced_bytes(const std::string& store) {
  std::lock_guard lock(mutex_);
  SyncedLogs next = logs_ ? updated() : SyncedLogs();
  if (!logs_ || (is_written() && next == *logs_) || !next.write(*env_, store).ok()) return;
  logs_ = std::move(next);
  is_written_ = true;
}

}  // namespace fathom::store
