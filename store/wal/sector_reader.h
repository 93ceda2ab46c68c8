// SectorReader: reads a file whose disk may have bad sectors. They read as zeros, which no checksum fits.
//
// Thread safety: none needed. Errors: a file that cannot be opened or read at all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rocksdb/env.h>

#include "base/result.h"

namespace fathom::store {

class SectorReader {
 public:
  static Result<std::unique_ptr<SectorReader>> open(rocksdb::Env& env, const std::string& path);

  uint64_t size() const { return size_; }
  // At most a block of a log; empty at the end of the file.
  std::string block_at(uint64_t offset);
  // If nothing at all can be read, the disk itself has failed, and may be readable later.
  Result<> check() const;

 private:
  explicit SectorReader(std::string path) : path_(std::move(path)) {}
  rocksdb::Status read(uint64_t offset, char* to, size_t bytes);

  const std::string path_;
  std::unique_ptr<rocksdb::RandomAccessFile> file_;
  uint64_t size_ = 0;
  uint64_t read_bytes_ = 0;
  rocksdb::Status fault_;
};

}  // namespace fathom::store
