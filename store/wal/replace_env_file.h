// replace_env_file: base/replace_file.h on the disk of the store, which a test can break.
//
// Purpose: small files beside the store change as a whole or not at all, also after a power cut. Thread safety: one
// thread per file. Errors: RocksDB's, so that callers can tell a full disk.
#pragma once

#include <string>

#include <rocksdb/env.h>

namespace fathom::store {

rocksdb::Status replace_env_file(rocksdb::Env& env, const std::string& path, const std::string& content);

// Creates a directory if it is missing. Its name is durable when it returns.
rocksdb::Status make_env_directory(rocksdb::Env& env, const std::string& path);

// Makes the names in a directory durable.
rocksdb::Status sync_env_directory(rocksdb::Env& env, const std::string& path);

}  // namespace fathom::store
