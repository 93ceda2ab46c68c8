// ScriptedPool: a program's pool that a test writes by hand, word by word, with nothing but client/pool/layout.h.
//
// Thread safety: as the layout's atomics. Ownership: of its file and its mapping; descriptor() gives copies away.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "client/pool/layout.h"
#include "client/pool/open_spans.h"

namespace fathom::agent::testing {

// The items of a span, one behind the other.
class Items {
 public:
  Items& text(std::string_view key, std::string_view value) {
    return add(pool::ItemTag::kAttribute, pool::ItemType::kString, key, value);
  }
  Items& number(std::string_view key, int64_t value) {
    return add(pool::ItemTag::kAttribute, pool::ItemType::kInt, key, raw(value));
  }
  Items& real(std::string_view key, double value) {
    return add(pool::ItemTag::kAttribute, pool::ItemType::kDouble, key, raw(value));
  }
  Items& boolean(std::string_view key, bool value) {
    return add(pool::ItemTag::kAttribute, pool::ItemType::kBool, key, std::string_view(value ? "\1" : "\0", 1));
  }
  Items& event(std::string_view name, uint64_t ticks) {
    return add(pool::ItemTag::kEvent, pool::ItemType::kNone, name, raw(ticks));
  }
  Items& link(std::string_view trace_id, std::string_view span_id, uint8_t flags, std::string_view trace_state = {}) {
    std::string value = std::string(trace_id) + std::string(span_id) + static_cast<char>(flags);
    return add(pool::ItemTag::kLink, pool::ItemType::kNone, trace_state, value);
  }
  Items& detail(std::string_view key, std::string_view value) {
    return add(pool::ItemTag::kDetail, pool::ItemType::kString, key, value);
  }
  Items& add(pool::ItemTag tag, pool::ItemType type, std::string_view key, std::string_view value);
  const std::string& bytes() const { return bytes_; }

 private:
  template <typename T>
  static std::string raw(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  std::string bytes_;
};

// A whole record but for its first word, which put() stores. Its span id says which span it is.
std::string make_record(uint64_t number, std::string_view name = "work", const std::string& items = {},
                        uint64_t start_ticks = 1000, uint64_t end_ticks = 2000);

class ScriptedPool {
 public:
  explicit ScriptedPool(uint32_t chunk_count = 8, pool::Clock clock = pool::Clock::kMonotonic, int seals = -1,
                        uint32_t thread_slots = 0);
  ScriptedPool(const ScriptedPool&) = delete;
  ScriptedPool& operator=(const ScriptedPool&) = delete;
  ~ScriptedPool();

  Fd descriptor() const;
  uint64_t bytes() const { return bytes_; }
  pool::Header& header() { return *reinterpret_cast<pool::Header*>(memory_); }
  pool::ChunkEntry& entry(uint32_t chunk) {
    return reinterpret_cast<pool::ChunkEntry*>(memory_ + pool::kPageBytes)[chunk];
  }
  char* chunk(uint32_t number) { return memory_ + header().chunks_offset + uint64_t{number} * pool::kChunkBytes; }

  // ---- area 5, where the pool has one
  pool::TriggerPage& triggers() { return *reinterpret_cast<pool::TriggerPage*>(open_area()); }
  pool::ThreadSlot& slot(uint32_t number) {
    return reinterpret_cast<pool::ThreadSlot*>(open_area() + pool::kPageBytes)[number];
  }
  // The innermost of a slot's spans from now on; its ids are of `number`, as make_record() has them.
  void begin_span(uint32_t slot, uint64_t number, std::string_view name, uint64_t start_ticks, uint32_t tid = 1);
  void end_span(uint32_t slot);
  void trigger(std::string_view reason, uint64_t number, uint64_t ticks);

  void set_resource(const std::vector<std::pair<std::string, std::string>>& pairs);

  // ---- the writer's steps, each by itself
  uint32_t claim(uint32_t chunk);  // its new epoch
  // Where the record will be; nothing when it does not fit.
  uint32_t reserve(uint32_t chunk, size_t bytes);
  void commit(uint32_t chunk, uint32_t at, const std::string& record);
  void seal(uint32_t chunk);
  // All of it: reserves and commits. False when the chunk is full.
  bool put(uint32_t chunk, const std::string& record);

  uint32_t state(uint32_t chunk) { return static_cast<uint32_t>(entry(chunk).state.load()); }
  uint32_t epoch(uint32_t chunk) { return static_cast<uint32_t>(entry(chunk).state.load() >> 32); }

 private:
  char* open_area() { return memory_ + header().chunks_offset - pool::open_area_bytes(header().thread_slots); }

  Fd descriptor_;
  uint64_t bytes_ = 0;
  char* memory_ = nullptr;
};

}  // namespace fathom::agent::testing
