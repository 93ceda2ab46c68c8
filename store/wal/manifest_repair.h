// Checks RocksDB's manifest, which lists the sorted files, before RocksDB opens a store.
//
// Purpose: RocksDB 7.8 takes a record of the manifest whose length is damaged for the incomplete end of the file, drops
// it and all records behind it without an error, and then deletes the sorted files that these records named. Without a
// CURRENT file and logs, RocksDB makes a new store and deletes all sorted files. Both lose acknowledged spans, so a
// start rejects them. A header with one wrong bit is corrected; the damaged manifest stays in DIR/damaged. What follows
// the last sync (manifest_size.h) is no damage; it is cut off.
// Thread safety: none needed; the caller must hold the store's lock. Errors: kCorrupt for damage, with the fix; failed
// reads and writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rocksdb/env.h>

#include "base/result.h"
#include "store/wal/log_repair.h"
#include "store/wal/log_scan.h"

namespace fathom::store {

// Fails if the store has data but no CURRENT file. Call it if CURRENT is missing.
Result<> check_without_current(rocksdb::Env& env, const LogPlaces& places);

// The path of the manifest that CURRENT names; kCorrupt if CURRENT is damaged or the manifest is missing.
Result<std::string> current_manifest(rocksdb::Env& env, const std::string& store);

struct ManifestState {
  std::string path;
  LogSummary summary;
  std::optional<uint64_t> damaged_from;
  std::optional<uint64_t> unsynced_from;  // nothing behind it can be relied on
};
Result<ManifestState> scan_manifest(rocksdb::Env& env, const std::string& store);

// The names of all manifests, the newest first. CURRENT may name none of them.
std::vector<std::string> list_manifests(rocksdb::Env& env, const std::string& store);

Result<> repair_manifest(rocksdb::Env& env, const LogPlaces& places);

}  // namespace fathom::store
