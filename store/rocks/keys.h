// The keys of the data directory (docs/formats/data-directory.md). All numbers in keys are big-endian.
//
// Every key begins with a tenant (0 for now). Rows that belong to a partition carry it next, so that retention drops
// key ranges; the trace index begins with the trace id instead, so that one seek finds a trace in all partitions, and
// is cleaned by a compaction filter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/ids.h"
#include "store/span_store.h"

namespace fathom::store::keys {

inline constexpr uint32_t kTenant = 0;

inline std::string tenant_prefix() {
  std::string key;
  append_be32(key, kTenant);
  return key;
}

// In the default family: the number below which every partition was dropped.
inline constexpr const char* kOldestPartition = "oldest_partition";

// In the default family: the last sealed sequence when partitions were dropped, because their records went with them.
inline constexpr const char* kSealedSequence = "sealed_sequence";

// In the default family: numbers of operations below this were given out, though their rows may be gone.
inline constexpr const char* kNextOperation = "next_operation";

// In the default family, the prefix of a damaged log's name: the losses of that log (losses.h).
inline const std::string kLost = "lost/";

// In the default family, present while captures are not yet compared with their files after damage to the log.
inline constexpr const char* kCapturesUnchecked = "captures_unchecked";
// The same for identities, after a repair.
inline constexpr const char* kIdentitiesUnchecked = "identities_unchecked";

inline std::string stage(uint64_t sequence) {
  std::string key = tenant_prefix();
  append_be64(key, sequence);
  return key;
}
inline uint64_t stage_sequence(std::string_view key) {
  return key.size() == 12 ? load_be64(key.data() + 4) : 0;
}

inline std::string identity_hour(uint32_t hour) {
  std::string key = tenant_prefix();
  append_be32(key, hour);
  return key;
}
inline std::string identity(uint32_t hour, const Hash128& hash) {
  std::string key = identity_hour(hour);
  append_be64(key, hash.high);
  append_be64(key, hash.low);
  return key;
}

inline std::string operation(uint32_t id) {
  std::string key = tenant_prefix();
  append_be32(key, id);
  return key;
}

inline std::string partition(uint32_t partition) {
  std::string key = tenant_prefix();
  append_be32(key, partition);
  return key;
}
inline uint32_t partition_of(std::string_view key) {
  return key.size() >= 8 ? load_be32(key.data() + 4) : 0;
}

inline std::string segment(uint32_t partition_id, uint32_t segment_id) {
  std::string key = partition(partition_id);
  append_be32(key, segment_id);
  return key;
}

inline constexpr size_t kChunkBlockPrefix = 16;  // what the keys of one block's chunks have in common
inline std::string chunk(uint32_t partition_id, uint32_t segment_id, uint32_t block, uint32_t column) {
  std::string key = segment(partition_id, segment_id);
  append_be32(key, block);
  append_be32(key, column);
  return key;
}

// A note that a trace has spans in this partition and in a later one; the same key for corrected summaries.
inline std::string straddle(uint32_t partition_id, const TraceId& id) {
  std::string key = partition(partition_id);
  key.append(id.view());
  return key;
}
inline std::optional<TraceId> straddle_trace(std::string_view key) {
  return key.size() == 24 ? TraceId::from_bytes(key.substr(8)) : std::nullopt;
}

inline constexpr size_t kTracePrefix = 20;  // tenant and trace id
inline std::string trace_prefix(const TraceId& id) {
  std::string key = tenant_prefix();
  key.append(id.view());
  return key;
}
inline std::string trace(const TraceId& id, uint32_t partition_id, uint32_t segment_id) {
  std::string key = trace_prefix(id);
  append_be32(key, partition_id);
  append_be32(key, segment_id);
  return key;
}
inline std::optional<TraceId> trace_id(std::string_view key) {
  return key.size() >= kTracePrefix ? TraceId::from_bytes(key.substr(kTracePrefix - sizeof(TraceId), sizeof(TraceId)))
                                    : std::nullopt;
}
struct TracePlace {
  uint32_t partition;
  uint32_t segment;
};
inline bool parse_trace(std::string_view key, TracePlace& place) {
  if (key.size() != kTracePrefix + 8) return false;
  place = {load_be32(key.data() + kTracePrefix), load_be32(key.data() + kTracePrefix + 4)};
  return true;
}

// Cells of time: minutes and hours since the epoch, 32 bits reach beyond what 64 bits of nanoseconds do.
enum class Level : uint8_t { kMinute = 0, kHour = 1 };
inline constexpr uint64_t level_nano(Level level) {
  return level == Level::kMinute ? 60'000'000'000 : 3'600'000'000'000;
}
inline uint32_t cell_of(Level level, uint64_t unix_nano) {
  return static_cast<uint32_t>(unix_nano / level_nano(level));
}

enum class Scope : uint8_t { kAll = 0, kService = 1, kOperation = 2 };

inline std::string slow_series(uint32_t partition_id, By by, Level level, Scope scope, uint32_t scope_id) {
  std::string key = partition(partition_id);
  key.push_back(by == By::kTrace ? 0 : 1);
  key.push_back(static_cast<char>(level));
  key.push_back(static_cast<char>(scope));
  append_be32(key, scope_id);
  return key;
}
inline std::string slow(uint32_t partition_id, By by, Level level, Scope scope, uint32_t scope_id, uint32_t cell) {
  std::string key = slow_series(partition_id, by, level, scope, scope_id);
  append_be32(key, cell);
  return key;
}

inline std::string latency_cell(uint32_t partition_id, Level level, uint32_t cell) {
  std::string key = partition(partition_id);
  key.push_back(static_cast<char>(level));
  append_be32(key, cell);
  return key;
}
inline std::string latency(uint32_t partition_id, Level level, uint32_t cell, uint32_t operation_id) {
  std::string key = latency_cell(partition_id, level, cell);
  append_be32(key, operation_id);
  return key;
}

inline uint32_t last_be32(std::string_view key) {
  return key.size() >= 4 ? load_be32(key.data() + key.size() - 4) : 0;
}

}  // namespace fathom::store::keys
