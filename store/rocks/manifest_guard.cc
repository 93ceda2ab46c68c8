#include "store/rocks/manifest_guard.h"

#include <filesystem>
#include <utility>

namespace fathom::store {

namespace {

bool is_manifest(const std::string& path) {
  return is_manifest_name(std::filesystem::path(path).filename().string());
}

bool is_current(rocksdb::Env& env, const std::string& path) {
  const std::filesystem::path file(path);
  return current_manifest_name(env, file.parent_path().string()) == file.filename().string();
}

}  // namespace

class ManifestFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  ManifestFile(std::unique_ptr<rocksdb::FSWritableFile> file, ManifestGuard& guard, std::string path)
      : FSWritableFileOwnerWrapper(std::move(file)), guard_(guard), path_(std::move(path)) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    return appended(data.size(), target()->Append(data, options, debug));
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& info, rocksdb::IODebugContext* debug) override {
    return appended(data.size(), target()->Append(data, options, info, debug));
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    return synced(target()->Sync(options, debug));
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    return synced(target()->Fsync(options, debug));
  }

 private:
  rocksdb::IOStatus appended(size_t bytes, const rocksdb::IOStatus& status) {
    if (status.ok()) bytes_ += bytes;
    return checked(status);
  }
  rocksdb::IOStatus synced(const rocksdb::IOStatus& status) {
    return checked(status.ok() ? guard_.note_synced(path_, bytes_) : status);
  }
  rocksdb::IOStatus checked(const rocksdb::IOStatus& status) {
    if (!status.ok()) guard_.deletions_.begin();
    return status;
  }

  ManifestGuard& guard_;
  const std::string path_;
  uint64_t bytes_ = 0;
};

// After CURRENT is renamed, RocksDB syncs the directory, and a failure of that is one of the manifest.
class ManifestDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  ManifestDirectory(std::unique_ptr<rocksdb::FSDirectory> directory, ManifestGuard& guard, std::string path)
      : FSDirectoryWrapper(std::move(directory)), guard_(guard), path_(std::move(path)) {}

  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    return watched([&] { return FSDirectoryWrapper::Fsync(options, debug); });
  }
  rocksdb::IOStatus FsyncWithDirOptions(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug,
                                        const rocksdb::DirFsyncOptions& directory_options) override {
    return watched([&] { return FSDirectoryWrapper::FsyncWithDirOptions(options, debug, directory_options); });
  }

 private:
  // Only a sync that begins after the rename makes it durable.
  template <typename Sync>
  rocksdb::IOStatus watched(const Sync& sync) {
    if (!guard_.is_store(path_)) return sync();
    const bool was_renamed = guard_.is_renamed_.exchange(false);
    rocksdb::IOStatus status = sync();
    if (!status.ok()) guard_.deletions_.begin();
    if (status.ok() && was_renamed) guard_.deletions_.end(*guard_.target());
    return status;
  }

  ManifestGuard& guard_;
  const std::string path_;
};

ManifestGuard::ManifestGuard(const std::shared_ptr<rocksdb::FileSystem>& disk)
    : FileSystemWrapper(disk), env_(rocksdb::NewCompositeEnv(disk)) {}

rocksdb::IOStatus ManifestGuard::DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                                            rocksdb::IODebugContext* debug) {
  const bool is_kept = is_manifest(path) && is_current(*env_, path);
  if (is_kept || (is_in_store(path) && deletions_.defer(path))) return rocksdb::IOStatus::OK();
  return target()->DeleteFile(path, options, debug);
}

rocksdb::IOStatus ManifestGuard::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                                 std::unique_ptr<rocksdb::FSWritableFile>* file,
                                                 rocksdb::IODebugContext* debug) {
  rocksdb::IOStatus status = target()->NewWritableFile(path, options, file, debug);
  if (!status.ok() || !is_manifest(path)) return status;
  set_store(path);
  *file = std::make_unique<ManifestFile>(std::move(*file), *this, path);
  return status;
}

rocksdb::IOStatus ManifestGuard::RenameFile(const std::string& from, const std::string& to,
                                            const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) {
  rocksdb::IOStatus status = target()->RenameFile(from, to, options, debug);
  if (std::filesystem::path(to).filename() != "CURRENT") return status;
  is_renamed_ = status.ok();
  if (!status.ok()) deletions_.begin();
  return status;
}

rocksdb::IOStatus ManifestGuard::NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                              std::unique_ptr<rocksdb::FSDirectory>* directory,
                                              rocksdb::IODebugContext* debug) {
  rocksdb::IOStatus status = target()->NewDirectory(path, options, directory, debug);
  if (status.ok()) *directory = std::make_unique<ManifestDirectory>(std::move(*directory), *this, path);
  return status;
}

rocksdb::IOStatus ManifestGuard::note_synced(const std::string& path, uint64_t bytes) {
  const std::filesystem::path file(path);
  rocksdb::IOStatus status = write_size(file.parent_path().string(), file.filename().string(), bytes);
  if (status.ok() && is_current(*env_, path)) deletions_.end(*target());
  return status;
}

void ManifestGuard::set_store(const std::string& path) {
  std::lock_guard lock(mutex_);
  store_ = std::filesystem::path(path).parent_path().string();
}

bool ManifestGuard::is_in_store(const std::string& path) {
  return is_store(std::filesystem::path(path).parent_path().string());
}

bool ManifestGuard::is_store(const std::string& path) {
  std::lock_guard lock(mutex_);
  return path == store_;
}

rocksdb::IOStatus ManifestGuard::write_size(const std::string& store, const std::string& manifest, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (!sizes_) sizes_ = ManifestSizes::read(*env_, store);
  sizes_->set(manifest, bytes);
  sizes_->keep(current_manifest_name(*env_, store));
  return rocksdb::status_to_io_status(sizes_->write(*env_, store));
}

}  // namespace fathom::store
