// SortedFileGuard: a file system that checks the end of a sorted file before RocksDB reads it, and hides failed writes
// of an empty one.
//
// Purpose: RocksDB 7.8 reads a sorted file's footer, which has no checksum, and its block of properties before it
// compares the checksum of that block. Damage there can end the process (docs/rocksdb.md). This file system rejects
// such a file with Status::Corruption when it is opened. If a compaction has no rows left, and its empty file cannot be
// written, an assertion ends the process. Here that write succeeds: RocksDB deletes the file, and its next write of the
// manifest meets the same disk. Cost: three small reads per opened file. Shapes: format version 5 of block-based
// tables, https://github.com/facebook/rocksdb/wiki/Rocksdb-BlockBasedTable-Format. Thread safety and ownership: as
// rocksdb::FileSystemWrapper. Errors: damage, and failed reads.
#pragma once

#include <memory>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

namespace fathom::store {

class SortedFileGuard : public rocksdb::FileSystemWrapper {
 public:
  explicit SortedFileGuard(const std::shared_ptr<rocksdb::FileSystem>& disk) : FileSystemWrapper(disk) {}
  const char* Name() const override { return "SortedFileGuard"; }
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
};

}  // namespace fathom::store
