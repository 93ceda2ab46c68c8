// DiskSpace: how much room the data directory's file system has, and how much of it is not for new rows.
//
// Purpose: RocksDB does not survive a write-ahead log that it cannot append to, so writes are refused before it comes
// to that; sealing and compaction of what is already stored live on the reserve. A file system can also have no inodes
// left for new files, and is then as full as without free bytes. Thread safety: a plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/rocks/engine.h"

namespace fathom::store {

struct DiskSpace {
  uint64_t free_bytes = 0;
  uint64_t reserve_bytes = 0;
  uint64_t free_files = UINT64_MAX;  // inodes; UINT64_MAX: the file system has no limit
  uint64_t reserve_files = 0;

  bool has_room_for(uint64_t bytes) const { return free_files >= reserve_files && free_bytes >= reserve_bytes + bytes; }
  // Captures are refused first: as much again as the reserve is left to spans.
  bool has_room_for_capture(uint64_t bytes) const { return has_room_for(reserve_bytes + bytes); }
};

// Returns whether the store accepted writes before. Updates the metric fathom_store_writable before `engine.writable`.
bool set_writable(Engine& engine, bool writable);
// Takes no writes from now on, and says so in the log, unless it was so before.
void refuse_writes(Engine& engine, const DiskSpace& space);
// Nothing when the file system does not say.
std::optional<DiskSpace> measure_disk(Engine& engine);
std::optional<DiskSpace> measure_disk(rocksdb::Env& env, const std::string& path, uint64_t reserve_bytes);
// What is free, for a message; empty when the file system does not say.
std::string free_space_text(const std::string& path);
// How large the logs may be on this disk. While it has no room for the rows of the present logs besides the reserve:
// kUnlimitedLogBytes, because RocksDB would write the rows of larger logs to files, into the space that retention
// needs.
uint64_t log_limit(rocksdb::Env& env, const RocksOptions& options);

}  // namespace fathom::store
