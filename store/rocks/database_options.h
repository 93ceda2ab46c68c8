// The options with which RocksDB opens a data directory: of the whole database and of each column family.
//
// Purpose: the one place that tunes RocksDB, for everything that opens a data directory: Database and tools. Thread
// safety: pure functions. Ownership: the families share one new cache of options.cache_bytes. Units: in names.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/listener.h>

#include "store/rocks/live_partitions.h"
#include "store/rocks/rocks_store.h"

namespace fathom::store {

struct DatabaseOptions {
  rocksdb::Options whole;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;  // in the order of Family
};

DatabaseOptions database_options(const RocksOptions& options, const std::shared_ptr<const LivePartitions>& live);

// No limit for the logs. RocksDB would read 0 as a multiple of its memory.
inline constexpr uint64_t kUnlimitedLogBytes = UINT64_MAX;
// How large the logs may be. A limit of size holds for them, too, and they leave most of it to sealed spans. On a small
// disk, the logs and a flush of their rows need a small part of the reserve only. 0: no limit of size, no reserve.
uint64_t most_log_bytes(uint64_t retention_bytes, uint64_t reserve_bytes);

// Faults of the disk that RocksDB met.
struct DatabaseFaults {
  // What is damaged; empty: no fault was damage.
  std::string damage() {
    std::lock_guard lock(mutex);
    return first_damage;
  }

  std::mutex mutex;
  std::string first_damage;
  std::atomic<bool> stopped{false};  // RocksDB takes no writes any more
  std::atomic<bool> paused{false};   // RocksDB has stopped a part of its work until Resume()
};
std::shared_ptr<rocksdb::EventListener> make_fault_listener(std::shared_ptr<DatabaseFaults> faults);

}  // namespace fathom::store
