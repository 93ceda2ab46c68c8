// DirectoryLock: keeps servers away from a data directory while a tool reads it.
//
// Purpose: holds a shared lock of fcntl on RocksDB's LOCK file, which RocksDB locks exclusively. The lock changes
// nothing on the disk. Without a LOCK file there is nothing to hold. Several readers can hold it at the same time.
// Thread safety: a plain value. Not for a process that has the store open: closing any descriptor of the file would
// release that process's own lock. Errors: kUnavailable names the process that holds the lock and the fix.
#pragma once

#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::store {

class DirectoryLock {
 public:
  // `path`: the data directory.
  static Result<DirectoryLock> acquire(const std::string& path);

 private:
  explicit DirectoryLock(Fd file) : file_(std::move(file)) {}

  Fd file_;
};

}  // namespace fathom::store
