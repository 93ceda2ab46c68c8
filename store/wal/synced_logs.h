// SyncedLogs: the numbers of RocksDB's logs that have acknowledged records, and how many bytes of each are synced.
//
// Purpose: RocksDB opens without a log that a disk lost, emptied or cut off, and drops its records without an error.
// This list tells such a log from one that RocksDB deleted or never synced. It is the file DIR/store/synced-logs
// (docs/formats/data-directory.md). A log enters the list after its name and its first record are durable, and leaves
// it before RocksDB deletes the log. The number of bytes is a lower bound, and always the end of a record. The list
// names the manifest that CURRENT names: each server that opens the store makes a new manifest, and an older server
// does not update the list. Thread safety: none. Errors: a file that is missing, damaged, or made for another manifest
// knows nothing.
#pragma once

#include <cstdint>
#include <map>
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

  std::set<uint64_t> numbers() const;
  bool has(uint64_t log) const { return bytes_.contains(log); }
  // How much of the log is synced at least; 0: not known.
  uint64_t synced_bytes(uint64_t log) const;
  void add(uint64_t log, uint64_t synced_bytes = 0) { bytes_[log] = synced_bytes; }
  // False: the log was not listed.
  bool remove(uint64_t log) { return bytes_.erase(log) > 0; }
  // `next`: the manifest that CURRENT is about to name; empty: none.
  rocksdb::Status write(rocksdb::Env& env, const std::string& store, const std::string& next = {}) const;

  bool operator==(const SyncedLogs&) const = default;

 private:
  std::string text(const std::vector<std::string>& manifests) const;
  void read_line(const std::string& line);

  std::map<uint64_t, uint64_t> bytes_;
};

}  // namespace fathom::store
