// SyncedLogs: the numbers of RocksDB's logs that have acknowledged records.
//
// Purpose: RocksDB opens without a log that a disk lost or emptied, and drops its records without an error. This list
// tells such a log from one that RocksDB deleted or never synced. It is the file DIR/store/synced-logs
// (docs/formats/data-directory.md). A log enters the list after its name and its first record are durable, and leaves
// it before RocksDB deletes the log. The list names the manifest that CURRENT names: each server that opens the store
// makes a new manifest, and an older server does not update the list. Thread safety: none. Errors: a file that is
// missing, damaged, or made for another manifest knows nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/env.h>

namespace fathom::store {

class SyncedLogs {
 public:
  // `store`: where RocksDB keeps its logs.
  static SyncedLogs read(rocksdb::Env& env, const std::string& store);
  // Removes the file, which needs no space. Durable when it returns.
  static rocksdb::Status remove_file(rocksdb::Env& env, const std::string& store);

  const std::set<uint64_t>& numbers() const { return numbers_; }
  void add(uint64_t log) { numbers_.insert(log); }
  // False: the log was not listed.
  bool remove(uint64_t log) { return numbers_.erase(log) > 0; }
  // `next`: the manifest that CURRENT is about to name; empty: none.
  rocksdb::Status write(rocksdb::Env& env, const std::string& store, const std::string& next = {}) const;

 private:
  std::string text(const std::vector<std::string>& manifests) const;

  std::set<uint64_t> numbers_;
};

}  // namespace fathom::store
