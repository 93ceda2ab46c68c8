// Reads a RocksDB log from end to end: its records, and the ranges where records were and cannot be read.
//
// Purpose: finds damage before RocksDB opens the log and silently stops there. A record is one write of RocksDB, a
// serialized WriteBatch. One damaged fragment makes its record unreadable.
// A log that ends within a record is incomplete: the write of that record had not returned, so it was never
// acknowledged. Everything else that cannot be read is damage, including zeros at the end: nothing proves that they
// were never overwritten. Behind the records of a log that is filled ahead (log_mark.h), fill bytes and marks are no
// damage, and what cannot be read behind the marked end is incomplete.
// What the disk cannot read is damage, unless nothing of the file can be read. So is an intact record that the caller
// leaves out (record_order.h).
// Thread safety: none needed. Errors: a file that cannot be read at all; damage is a result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rocksdb/env.h>

#include "base/result.h"
#include "store/wal/record_order.h"

namespace fathom::store {

// A part of a log file.
struct LogRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t end() const { return offset + bytes; }
};

// Ignores everything. Override the functions that you need.
class LogVisitor {
 public:
  virtual ~LogVisitor() = default;
  virtual Result<> on_record(std::string_view /*record*/) { return {}; }
  virtual Result<> on_damage(const LogRange& /*range*/) { return {}; }
};

struct LogSummary {
  uint64_t bytes = 0;    // of the file
  uint64_t end = 0;      // of its records, damage and incomplete record; fill bytes and marks follow
  uint64_t records = 0;  // without those left out
  uint64_t damages = 0;
  bool corrected = false;                   // a header had a wrong bit; its record is complete
  std::optional<uint64_t> incomplete_from;  // offset of an incomplete last record
  std::optional<uint64_t> marked_end;       // by the log's own mark: so much was synced, or was being synced
  uint64_t intact_end() const { return incomplete_from.value_or(end); }
  bool is_filled() const { return end < bytes; }
  // Its own mark says that nothing is missing.
  bool has_all_marked() const { return marked_end && intact_end() >= *marked_end; }
  // True if RocksDB can read the whole log in its strictest mode.
  bool is_whole() const { return damages == 0 && !corrected && !incomplete_from && !is_filled(); }
};

Result<LogSummary> scan_log(rocksdb::Env& env, const std::string& path, LogVisitor& visitor,
                            const RecordNumbers& left_out = {});

}  // namespace fathom::store
