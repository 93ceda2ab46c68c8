// LogState: what a scan finds in one of RocksDB's logs, compared with the other logs and with the list of synced logs.
//
// Purpose: a log before others that have records cannot end within a record: it was synced before they were written. If
// it has a mark (log_mark.h), the mark decides that: a closed log may still have its fill after a power cut.
// No log can end before the bytes that the list or its own mark (log_mark.h) says were synced.
// A record that another log has too, or that is older than those before it, is in the wrong place (record_order.h).
// Thread safety: none needed, plain values. Errors: failed reads.
#pragma once

#include <string>
#include <vector>

#include <rocksdb/env.h>

#include "base/result.h"
#include "store/wal/log_scan.h"
#include "store/wal/record_order.h"

namespace fathom::store {

struct LogState {
  std::string name;
  LogSummary summary;
  SequenceRange range;         // of its own records; everything, unless that makes a difference
  RecordNumbers misplaced;     // damage, too
  bool is_cut_short = false;   // it ends before records that were synced
  uint64_t missing_bytes = 0;  // behind its end: they were synced, or the power failed during their sync
  bool is_missing = false;     // listed as synced, but the file is missing or has no whole record and no damage
  bool is_damaged() const { return summary.damages > 0 || is_cut_short || is_missing; }
};

// The logs in a directory, and those that are missing in it, the oldest first. A missing directory has none.
Result<std::vector<LogState>> scan_logs(rocksdb::Env& env, const std::string& directory);

// Reads the sequence numbers of all records of a log.
Result<LogSequences> read_sequences(rocksdb::Env& env, const std::string& path);

}  // namespace fathom::store
