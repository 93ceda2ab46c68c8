// Writes records into a log in RocksDB 7.8's format, to copy the intact records of a damaged log.
//
// Thread safety: none needed. Errors: failed writes; every later call fails too. finish() makes the file durable.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <rocksdb/env.h>

#include "base/result.h"
#include "store/wal/log_block.h"

namespace fathom::store {

class LogWriter {
 public:
  static Result<LogWriter> create(rocksdb::Env& env, const std::string& path);

  Result<> add(std::string_view record);
  Result<> finish();

 private:
  LogWriter(std::string path, std::unique_ptr<rocksdb::WritableFile> file);
  Result<> add_fragment(FragmentType type, std::string_view payload);
  Result<> append(std::string_view bytes);

  std::string path_;
  std::unique_ptr<rocksdb::WritableFile> file_;
  size_t in_block_ = 0;  // bytes of the block under way
};

}  // namespace fathom::store
