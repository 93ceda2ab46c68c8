// ManifestGuard: a file system that protects the manifest that CURRENT names.
//
// Purpose: a start must be able to read the manifest, whatever a crash interrupted. RocksDB before 9.5 deletes it if
// the disk runs full while RocksDB starts a new one (facebook/rocksdb pull request 12865); that deletion does nothing
// here. After each sync of a manifest, DIR/store/manifest-size says how much of it is durable
// (store/wal/manifest_size.h). This costs three syncs of small files, a few times for each segment. Thread safety and
// ownership: as rocksdb::FileSystemWrapper. Errors: a size that cannot be written fails the sync of the manifest.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "store/wal/manifest_size.h"

namespace fathom::store {

class ManifestGuard : public rocksdb::FileSystemWrapper {
 public:
  explicit ManifestGuard(const std::shared_ptr<rocksdb::FileSystem>& disk);
  const char* Name() const override { return "ManifestGuard"; }
  // Does nothing if CURRENT in the same directory names the file.
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;

 private:
  friend class ManifestFile;
  rocksdb::IOStatus note_synced(const std::string& path, uint64_t bytes);

  const std::unique_ptr<rocksdb::Env> env_;
  std::mutex mutex_;
  std::optional<ManifestSizes> sizes_;  // read when they are needed first
};

}  // namespace fathom::store
