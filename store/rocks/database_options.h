// The options with which RocksDB opens a data directory, for the code that opens it: Database and tools.
//
// Thread safety: a pure function. Ownership: the families share one new cache of options.cache_bytes.
#pragma once

#include <memory>
#include <vector>

#include <rocksdb/db.h>

#include "store/rocks/live_partitions.h"
#include "store/rocks/rocks_store.h"

namespace fathom::store {

struct DatabaseOptions {
  rocksdb::Options whole;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;  // in the order of Family
};

DatabaseOptions database_options(const RocksOptions& options, const std::shared_ptr<const LivePartitions>& live);

}  // namespace fathom::store
