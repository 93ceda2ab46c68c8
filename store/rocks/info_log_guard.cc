#include "store/rocks/info_log_guard.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "base/log.h"

namespace fathom::store {

namespace {

using rocksdb::IOStatus;

// A start may open the store many times on a full disk.
std::atomic<bool> was_reported{false};

class InfoLogFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  InfoLogFile(std::unique_ptr<rocksdb::FSWritableFile> file, std::string path)
      : FSWritableFileOwnerWrapper(std::move(file)), path_(std::move(path)) {}

  IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                  rocksdb::IODebugContext* debug) override {
    return without_failure(target()->Append(data, options, debug));
  }
  IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                  const rocksdb::DataVerificationInfo& info, rocksdb::IODebugContext* debug) override {
    return without_failure(target()->Append(data, options, info, debug));
  }
  IOStatus Flush(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    return without_failure(target()->Flush(options, debug));
  }
  IOStatus Close(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    return without_failure(target()->Close(options, debug));
  }

 private:
  IOStatus without_failure(const IOStatus& status) {
    if (!status.ok() && !was_reported.exchange(true)) {
      log_warning("cannot write all lines of RocksDB's log " + path_ + ": " + status.ToString() +
                  "; the store goes on without them");
    }
    return IOStatus::OK();
  }

  const std::string path_;
};

class InfoLogFiles : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "InfoLogFiles"; }
  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file, rocksdb::IODebugContext* debug) override {
    IOStatus status = target()->NewWritableFile(path, options, file, debug);
    if (status.ok()) *file = std::make_unique<InfoLogFile>(std::move(*file), path);
    return status;
  }
};

}  // namespace

// RocksDB's own log, which keeps its file and not the file system.
IOStatus InfoLogGuard::NewLogger(const std::string& path, const rocksdb::IOOptions& options,
                                 std::shared_ptr<rocksdb::Logger>* log, rocksdb::IODebugContext* debug) {
  return InfoLogFiles(target_).FileSystem::NewLogger(path, options, log, debug);
}

void remove_old_info_logs(rocksdb::Env& env, const std::string& store) {
  std::vector<std::string> names;
  if (!env.GetChildren(store, &names).ok()) return;
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("LOG.old."); });
  if (names.empty()) return;
  std::sort(names.begin(), names.end());  // their times have the same number of digits
  names.pop_back();
  for (const std::string& name : names) env.DeleteFile(store + "/" + name);
}

}  // namespace fathom::store
