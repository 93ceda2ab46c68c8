// The names of RocksDB's logs, in the store and where damaged ones are kept.
//
// Shapes: NUMBER.log in the store; NUMBER.log.HASH[.FIRST-END][.short-BYTES] in DIR/damaged, because a repaired log can
// be damaged again (docs/formats/wal.md). Thread safety: plain functions. Errors: of listing a directory; a missing
// one is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/env.h>

#include "base/result.h"
#include "base/sha256.h"
#include "store/wal/record_order.h"

namespace fathom::store {

struct LogPlaces {
  std::string store;    // where RocksDB keeps its logs
  std::string damaged;  // where damaged logs are kept
};

struct LogFile {
  uint64_t number = 0;
  std::string name;
};

// The number that a text consists of.
std::optional<uint64_t> whole_number(std::string_view text);

// The number of NUMBER.log; nothing for other names.
std::optional<uint64_t> log_number(std::string_view name);
// As RocksDB writes it.
std::string log_name(uint64_t number);

// Nothing for other files.
std::optional<LogFile> log_file(const std::string& name);

// Oldest first. In `directory`, there may be logs that were set aside.
Result<std::vector<LogFile>> list_logs(rocksdb::Env& env, const std::string& directory);
// Only those that RocksDB reads.
Result<std::vector<LogFile>> list_store_logs(rocksdb::Env& env, const std::string& directory);

// How large the logs in the store are together. A log that is gone meanwhile counts nothing.
uint64_t bytes_of_logs(rocksdb::Env& env, const std::string& store);

// `intact`: the hash of the records that stay. `range`: the sequence numbers that are the log's own. `missing_bytes`:
// that were synced, behind the end of the log.
std::string name_set_aside(const std::string& log, const Sha256& intact, const SequenceRange& range,
                           uint64_t missing_bytes = 0);
SequenceRange range_in_name(const std::string& name);
uint64_t missing_bytes_in_name(const std::string& name);
// Whether two names differ in the missing bytes only. A repeated start may not know them any more.
bool is_same_damage(const std::string& name, const std::string& other);

}  // namespace fathom::store
