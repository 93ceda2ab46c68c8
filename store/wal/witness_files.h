// The small files by which a start notices that a disk lost the end of a manifest or a whole log.
//
// Purpose: without manifest-size (manifest_size.h) or synced-logs (synced_logs.h), such a loss is not noticed. A
// missing file is no damage, because older servers write none. Thread safety: plain functions. Errors: a file that
// cannot be read is damaged.
#pragma once

#include <string>
#include <vector>

#include <rocksdb/env.h>

namespace fathom::store {

// The paths of those that exist and are damaged. `store`: where RocksDB keeps its files.
std::vector<std::string> damaged_witnesses(rocksdb::Env& env, const std::string& store);

}  // namespace fathom::store
