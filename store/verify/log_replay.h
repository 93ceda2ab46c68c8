// Applies the intact records of RocksDB's logs to another database.
//
// Purpose: after a repair of the manifest, RocksDB knows only families that have sorted files, and would skip the logs'
// rows of the others. The logs are a suffix of all writes, so applying them again changes nothing that they already
// did. Thread safety: one thread. Errors: of reading the logs and writing to the database.
#pragma once

#include <string>
#include <vector>

#include <rocksdb/db.h>

#include "base/result.h"
#include "store/wal/log_state.h"

namespace fathom::store {

// `directory`: where the logs are; missing ones are skipped. `families`: by the number that RocksDB's logs use, which
// is the order of Family.
Result<> replay_logs(const std::string& directory, const std::vector<LogState>& logs, rocksdb::DB& db,
                     const std::vector<rocksdb::ColumnFamilyHandle*>& families);

}  // namespace fathom::store
