// A pool in private memory, and records to put into it: for tests of chunks without a process around them.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "client/chunks.h"
#include "client/pool_memory.h"

namespace fathom::client::testing {

class MemoryPool {
 public:
  explicit MemoryPool(uint32_t chunk_count, uint32_t thread_slots = 0)
      : places_(geometry(chunk_count, thread_slots)), made_(make_pool_memory(places_)), chunk_count_(chunk_count) {
    const uint8_t process_id[16] = {0xfa, 0x70, 0x11};
    if (made_.base == nullptr) std::abort();
    write_header(header(), chunk_count, thread_slots, pool::Clock::kMonotonic, process_id);
    finish_header(header());
  }
  ~MemoryPool() { drop_shared_memory(made_, places_.bytes); }
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  char* base() const { return made_.base; }
  int fd() const { return made_.fd; }
  size_t bytes() const { return places_.bytes; }
  pool::Header& header() const { return *reinterpret_cast<pool::Header*>(made_.base); }
  PoolView view() const {
    return {&header(), reinterpret_cast<pool::ChunkEntry*>(base() + pool::kPageBytes), base() + places_.chunks_offset,
            chunk_count_};
  }

 private:
  const PoolGeometry places_;
  MadePool made_;
  uint32_t chunk_count_;
};

// For put(): it is always there.
inline auto see(const MemoryPool& memory) {
  return [&memory](PoolView& view) {
    view = memory.view();
    return true;
  };
}

// A valid record, known again by `number`, with an attribute of so many bytes.
inline std::vector<char> numbered_record(uint64_t number, uint32_t value_bytes) {
  const uint32_t item_bytes = sizeof(pool::ItemHead) + 1 + value_bytes;
  const uint32_t used = sizeof(pool::SpanRecord) + item_bytes;
  std::vector<char> bytes((used + 7) / 8 * 8);
  pool::SpanRecord record = {};
  record.start_ticks = number;
  record.end_ticks = ~number;
  record.kind = 1;
  record.item_bytes = item_bytes;
  std::memcpy(bytes.data(), &record, sizeof record);
  const pool::ItemHead head = {static_cast<uint8_t>(pool::ItemTag::kAttribute),
                               static_cast<uint8_t>(pool::ItemType::kString), 1, value_bytes};
  char* at = bytes.data() + sizeof record;
  std::memcpy(at, &head, sizeof head);
  at[sizeof head] = 'v';
  std::memset(at + sizeof head + 1, static_cast<int>('a' + number % 26), value_bytes);
  return bytes;
}

}  // namespace fathom::client::testing
