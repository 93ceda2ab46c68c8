// DeferredDeletions: sorted files that are not deleted while it is in doubt what a manifest names.
//
// Purpose: a write of a manifest may fail although the disk has it, for example if only its sync fails. RocksDB then
// deletes the files that it has just ingested, and the next start needs them. After such a failure the files are kept
// until a manifest is written that does not name them. What a crash leaves is deleted when RocksDB opens the store.
// Thread safety: all of it. Ownership: none. Errors: a file that cannot be deleted later stays until the next open.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include <rocksdb/file_system.h>

namespace fathom::store {

class DeferredDeletions {
 public:
  // A write of a manifest, or of a name in the directory, failed.
  void begin();
  // True: the file is kept for now.
  bool defer(const std::string& path);
  // A manifest is written, and RocksDB knows it. Deletes the files that were kept.
  void end(rocksdb::FileSystem& disk);

 private:
  std::mutex mutex_;
  bool is_in_doubt_ = false;
  std::set<std::string> kept_;
};

}  // namespace fathom::store
