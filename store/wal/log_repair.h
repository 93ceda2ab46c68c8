// Repairs RocksDB's damaged logs before RocksDB opens them, and reports what the damage destroyed.
//
// Purpose: RocksDB stops at the first record that it cannot read and silently drops all acknowledged records behind it.
// repair_logs() moves a damaged log to DIR/damaged and replaces it with a copy of its intact records. It truncates a
// log whose last record a crash left incomplete. A log before others that have records cannot end so: it was synced
// before they were written, and is damaged. A log stays in DIR/damaged until the operator deletes it; losses_of()
// derives from it what was lost, at every start until the store has recorded that. A missing log has a mark there
// instead (missing_logs.h). The newest log is copied, because its last records may be in the page cache alone, if the
// process before ended after a failed sync.
// Crashes: repair_logs() is idempotent; the damaged log gets its second name before the copy replaces the first.
// Thread safety: none needed; the caller must hold the store's lock. Errors: failed reads and writes, a full disk
// included.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/env.h>

#include "base/result.h"
#include "base/sha256.h"
#include "store/wal/log_scan.h"

namespace fathom::store {

// A batch of the stage family, as found in a log.
struct StagedBatch {
  uint64_t sequence = 0;
  uint64_t received_unix_nano = 0;
};

struct LogLoss {
  LogRange range;
  // The nearest intact batches of the same log; nothing where there is none.
  std::optional<StagedBatch> before;
  std::optional<StagedBatch> after;
};

struct LogState {
  std::string name;
  LogSummary summary;
  bool is_cut_short = false;  // incomplete, though a later log has records
  bool is_missing = false;    // listed as synced, but the file is missing or has no whole record and no damage
  bool is_damaged() const { return summary.damages > 0 || is_cut_short || is_missing; }
};

struct LogPlaces {
  std::string store;    // where RocksDB keeps its logs
  std::string damaged;  // where damaged logs are kept
};

Result<> repair_logs(rocksdb::Env& env, const LogPlaces& places);

// The logs in a directory, and those that are missing in it, the oldest first. A missing directory has none.
Result<std::vector<LogState>> scan_logs(rocksdb::Env& env, const std::string& directory);

// Durable when it returns.
Result<> truncate_log(rocksdb::Env& env, const std::string& path, uint64_t size);

// Writes the intact records of a log to a new file, and syncs it. Returns the hash of these records.
Result<Sha256> copy_intact(rocksdb::Env& env, const std::string& from, const std::string& to);

// Links the file `name` of the store into places.damaged and replaces it with a copy of its intact records. The hash of
// these is part of the link's name: another damage of the same log gets another name, even if the first link is gone.
Result<> replace_by_intact_copy(rocksdb::Env& env, const LogPlaces& places, const std::string& name);

// The names of the damaged logs that were moved aside, and of the marks of missing logs, the oldest first.
Result<std::vector<std::string>> logs_set_aside(rocksdb::Env& env, const LogPlaces& places);

// Whether an incomplete last record is a loss.
enum class LogEnd { kMayBeIncomplete, kIsComplete };

// The losses in one log, ordered by offset; the loss of the whole log for a mark. `stage_family`: RocksDB's id of the
// stage family. A log that was set aside was complete.
Result<std::vector<LogLoss>> losses_of(rocksdb::Env& env, const std::string& path, uint32_t stage_family,
                                       LogEnd end = LogEnd::kIsComplete);

// The first intact batch of the logs after this one. The stage does not tell: it also has batches of earlier logs.
Result<std::optional<StagedBatch>> first_batch_after(rocksdb::Env& env, const LogPlaces& places, const std::string& log,
                                                     uint32_t stage_family);

}  // namespace fathom::store
