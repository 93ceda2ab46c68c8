// replace_env_file: base/replace_file.h on the disk of the store, which a test can break; and how files get other
// names.
//
// Purpose: small files beside the store change as a whole or not at all, also after a power cut. Damaged files are kept
// elsewhere, which may be another file system. Thread safety: one thread per file. Errors: RocksDB's, so that callers
// can tell a full disk.
#pragma once

#include <string>

#include <rocksdb/env.h>

namespace fathom::store {

rocksdb::Status replace_env_file(rocksdb::Env& env, const std::string& path, const std::string& content);

// Creates a directory if it is missing. Its name is durable when it returns.
rocksdb::Status make_env_directory(rocksdb::Env& env, const std::string& path);

// Gives a file a second name; on another file system, or where a file has one name only, a copy gets it. Does nothing
// if `to` exists. Durable when it returns.
rocksdb::Status link_or_copy(rocksdb::Env& env, const std::string& from, const std::string& to);

// Moves a file, also to another file system.
rocksdb::Status move_env_file(rocksdb::Env& env, const std::string& from, const std::string& to);

// Makes the names in a directory durable.
rocksdb::Status sync_env_directory(rocksdb::Env& env, const std::string& path);

}  // namespace fathom::store
