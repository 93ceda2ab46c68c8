// ManifestGuard: a file system that protects the manifest that CURRENT names.
//
// Purpose: a start must be able to read the manifest, whatever a crash interrupted. RocksDB before 9.5 deletes it if
// the disk runs full while RocksDB starts a new one (facebook/rocksdb pull request 12865); that deletion does nothing
// here. After each sync of a manifest, DIR/store/manifest-size says how much of it is durable
// (store/wal/manifest_size.h). This costs three syncs of small files, a few times for each segment. After a failure,
// sorted files are deleted later (deferred_deletions.h). RocksDB appends nothing to a manifest after a write of it
// failed, so a later sync of it, or a new manifest, ends the doubt. Thread safety and ownership: as
// rocksdb::FileSystemWrapper. Errors: a size that cannot be written fails the sync of the manifest.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "store/rocks/deferred_deletions.h"
#include "store/wal/manifest_size.h"

namespace fathom::store {

class ManifestGuard : public rocksdb::FileSystemWrapper {
 public:
  explicit ManifestGuard(const std::shared_ptr<rocksdb::FileSystem>& disk);
  const char* Name() const override { return "ManifestGuard"; }
  // Does nothing if CURRENT in the same directory names the file. May delete a sorted file later.
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* debug) override;

 private:
  friend class ManifestFile;
  friend class ManifestDirectory;
  rocksdb::IOStatus note_synced(const std::string& path, uint64_t bytes);
  void set_store(const std::string& path);
  bool is_in_store(const std::string& path);
  bool is_store(const std::string& path);
  rocksdb::IOStatus write_size(const std::string& store, const std::string& manifest, uint64_t bytes);

  const std::unique_ptr<rocksdb::Env> env_;
  std::mutex mutex_;
  std::optional<ManifestSizes> sizes_;  // read when they are needed first
  std::string store_;                   // where the manifests are
  DeferredDeletions deletions_;
  std::atomic<bool> is_renamed_{false};  // CURRENT names another manifest, but that may not be durable yet
};

}  // namespace fathom::store
