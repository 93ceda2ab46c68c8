#include "node-agent/testing/scripted_pool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cassert>
#include <cstdlib>
#include <cstring>

namespace fathom::agent::testing {

using pool::ChunkEntry;
using pool::Header;

Items& Items::add(pool::ItemTag tag, pool::ItemType type, std::string_view key, std::string_view value) {
  pool::ItemHead head{static_cast<uint8_t>(tag), static_cast<uint8_t>(type), static_cast<uint16_t>(key.size()),
                      static_cast<uint32_t>(value.size())};
  bytes_.append(reinterpret_cast<const char*>(&head), sizeof head).append(key).append(value);
  return *this;
}

std::string make_record(uint64_t number, std::string_view name, const std::string& items, uint64_t start_ticks,
                        uint64_t end_ticks) {
  pool::SpanRecord head{};
  head.start_ticks = start_ticks;
  head.end_ticks = end_ticks;
  uint64_t trace = number / 10 + 1;
  uint64_t span = number + 1;
  std::memcpy(head.trace_id, &trace, sizeof trace);
  std::memcpy(head.span_id, &span, sizeof span);
  head.kind = 1;
  head.name_bytes = static_cast<uint16_t>(name.size());
  head.item_bytes = static_cast<uint32_t>(items.size());
  std::string record(reinterpret_cast<const char*>(&head), sizeof head);
  record.append(name).append(items);
  record.resize((record.size() + 7) / 8 * 8, '\0');
  return record;
}

ScriptedPool::ScriptedPool(uint32_t chunk_count, pool::Clock clock, int seals, uint32_t thread_slots)
    : descriptor_(::memfd_create("scripted-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  uint64_t entries_end = pool::kPageBytes + chunk_count * sizeof(ChunkEntry);
  uint64_t resource_offset = (entries_end + pool::kPageBytes - 1) / pool::kPageBytes * pool::kPageBytes;
  uint64_t chunks_offset = resource_offset + pool::kResourceBytes + pool::open_area_bytes(thread_slots);
  bytes_ = chunks_offset + uint64_t{chunk_count} * pool::kChunkBytes;
  if (::ftruncate(descriptor_.get(), static_cast<off_t>(bytes_)) != 0) std::abort();
  if (seals < 0) seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::fcntl(descriptor_.get(), F_ADD_SEALS, seals) != 0) std::abort();
  void* mapping = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (mapping == MAP_FAILED) std::abort();
  memory_ = static_cast<char*>(mapping);
  header().magic = pool::kMagic;
  header().version = pool::kVersion;
  header().clock = clock;
  header().chunk_bytes = pool::kChunkBytes;
  header().chunk_count = chunk_count;
  header().chunks_offset = chunks_offset;
  header().resource_offset = resource_offset;
  header().thread_slots = thread_slots;
  std::memset(header().process_id, 0x42, sizeof header().process_id);
  set_resource({{"service.name", "scripted"}});
}

ScriptedPool::~ScriptedPool() {
  ::munmap(memory_, bytes_);
}

Fd ScriptedPool::descriptor() const {
  return Fd(::fcntl(descriptor_.get(), F_DUPFD_CLOEXEC, 0));
}

void ScriptedPool::set_resource(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) {
    for (uint16_t size : {static_cast<uint16_t>(key.size()), static_cast<uint16_t>(value.size())})
      text.append(reinterpret_cast<const char*>(&size), sizeof size);
    text.append(key).append(value);
  }
  std::memcpy(memory_ + header().resource_offset, text.data(), text.size());
  uint64_t version = (header().resource.load() >> 32) + 2;
  header().resource.store(version << 32 | text.size());
}

uint32_t ScriptedPool::claim(uint32_t chunk) {
  uint64_t before = entry(chunk).state.load();
  if (static_cast<uint32_t>(before) != pool::kFree) std::abort();
  uint32_t epoch = static_cast<uint32_t>(before >> 32) + 1;
  if (!entry(chunk).state.compare_exchange_strong(before, pool::pack_state(epoch, pool::kClaimed))) std::abort();
  entry(chunk).reserved.store(0);
  entry(chunk).committed.store(0);
  entry(chunk).state.store(pool::pack_state(epoch, pool::kOwned));
  if (header().chunks_used.load() <= chunk) header().chunks_used.store(chunk + 1);
  return epoch;
}

uint32_t ScriptedPool::reserve(uint32_t chunk, size_t bytes) {
  return entry(chunk).reserved.fetch_add(static_cast<uint32_t>(bytes));
}

void ScriptedPool::commit(uint32_t chunk, uint32_t at, const std::string& record) {
  char* to = this->chunk(chunk) + at;
  std::memcpy(to + 8, record.data() + 8, record.size() - 8);
  uint64_t word = pool::pack_record(epoch(chunk), pool::RecordType::kSpan, static_cast<uint32_t>(record.size() / 8));
  std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(to)).store(word, std::memory_order_release);
  entry(chunk).committed.fetch_add(static_cast<uint32_t>(record.size()), std::memory_order_release);
}

void ScriptedPool::seal(uint32_t chunk) {
  entry(chunk).reserved.store(entry(chunk).committed.load());
  entry(chunk).state.store(pool::pack_state(epoch(chunk), pool::kSealed));
}

bool ScriptedPool::put(uint32_t chunk, const std::string& record) {
  uint32_t at = reserve(chunk, record.size());
  if (at + record.size() > pool::kChunkBytes) return false;
  commit(chunk, at, record);
  return true;
}

}  // namespace fathom::agent::testing
