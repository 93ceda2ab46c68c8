// How RocksDB is tuned: the options of the whole database and of each column family.
//
// Thread safety: pure functions. Ownership: the options share what they are given. Units: in names.
#pragma once

#include <atomic>
#include <memory>

#include <rocksdb/options.h>

#include "store/rocks/database.h"

namespace fathom::store {

// How large the logs may be: a limit of size holds for them, too, and they leave most of it to sealed spans.
uint64_t most_log_bytes(uint64_t retention_bytes);

// What all families and the database have in common.
rocksdb::Options base_options(const RocksOptions& options);
rocksdb::Options family_options(Family which, const RocksOptions& options, const std::shared_ptr<rocksdb::Cache>& cache,
                                const std::shared_ptr<const LivePartitions>& live);
// Sets `stopped` when a fault of the disk has stopped RocksDB.
std::shared_ptr<rocksdb::EventListener> make_fault_listener(std::shared_ptr<std::atomic<bool>> stopped);

}  // namespace fathom::store
