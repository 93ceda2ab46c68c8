// Repairs RocksDB's damaged logs before RocksDB opens them.
//
// Purpose: RocksDB stops at the first record that it cannot read and silently drops all acknowledged records behind it.
// repair_logs() moves a damaged log to DIR/damaged and replaces it with a copy of its intact records. It truncates a
// log whose last record a crash left incomplete. A log stays in DIR/damaged until the operator deletes it;
// losses_set_aside() (log_losses.h) derives from it what was lost, at every start until the store has recorded that.
// A missing log has a mark there instead (missing_logs.h). The newest log is copied, because its last records may be in
// the page cache alone, if the process before ended after a failed sync.
// Crashes: repair_logs() is idempotent; the damaged log gets its second name before the copy replaces the first.
// Thread safety: none needed; the caller must hold the store's lock. Errors: failed reads and writes, a full disk
// included.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksdb/env.h>

#include "base/result.h"
#include "base/sha256.h"
#include "store/wal/log_files.h"
#include "store/wal/log_state.h"

namespace fathom::store {

struct LogRepair {
  bool was_cut = false;  // a log ended within a record. Its writer was interrupted, or a disk lost more than that
};
Result<LogRepair> repair_logs(rocksdb::Env& env, const LogPlaces& places);

// Durable when it returns.
Result<> truncate_log(rocksdb::Env& env, const std::string& path, uint64_t size);

// Writes the intact records of a log to a new file, without those left out, and syncs it. Returns their hash.
Result<Sha256> copy_intact(rocksdb::Env& env, const std::string& from, const std::string& to,
                           const RecordNumbers& left_out = {});

// Links a file of the store into places.damaged and replaces it with a copy of its intact records. The hash of
// these is part of the link's name: another damage of the same log gets another name, even if the first link is gone.
Result<> replace_by_intact_copy(rocksdb::Env& env, const LogPlaces& places, const LogState& log);

// The names of the damaged logs that were moved aside, and of the marks of missing logs, the oldest first.
Result<std::vector<std::string>> logs_set_aside(rocksdb::Env& env, const LogPlaces& places);

}  // namespace fathom::store
