// InfoLogGuard: a file system that hides failed writes of RocksDB's info log, the file LOG.
//
// Purpose: if a write of LOG fails, an assertion of RocksDB 7.8 ends the process at the next line (docs/rocksdb.md). A
// full disk fails such a write, because RocksDB logs that it could not write other files. Here the write succeeds, and
// its lines are missing. Thread safety and ownership: as rocksdb::FileSystemWrapper. Errors: a log that cannot be
// created. Losses: lines of LOG; a warning says so once per process.
#pragma once

#include <memory>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

namespace fathom::store {

class InfoLogGuard : public rocksdb::FileSystemWrapper {
 public:
  explicit InfoLogGuard(const std::shared_ptr<rocksdb::FileSystem>& disk) : FileSystemWrapper(disk) {}
  const char* Name() const override { return "InfoLogGuard"; }
  rocksdb::IOStatus NewLogger(const std::string& path, const rocksdb::IOOptions& options,
                              std::shared_ptr<rocksdb::Logger>* log, rocksdb::IODebugContext* debug) override;
};

// Deletes all old info logs, LOG.old.*, but the newest. RocksDB makes one whenever it opens the store, and deletes them
// only after it has opened. Without this, starts that fail on a full disk would use up its last space.
void remove_old_info_logs(rocksdb::Env& env, const std::string& store);

}  // namespace fathom::store
