#include "node-agent/testing/scripted_pool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
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

namespace {

void put_ids(uint64_t number, uint8_t (&trace_id)[16], uint8_t (&span_id)[8]) {
  uint64_t trace = number / 10 + 1;
  uint64_t span = number + 1;
  std::memcpy(trace_id, &trace, sizeof trace);
  std::memcpy(span_id, &span, sizeof span);
}

}  // namespace

std::string make_record(uint64_t number, std::string_view name, const std::string& items, uint64_t start_ticks,
                        uint64_t end_ticks) {
  pool::SpanRecord head{};
  head.start_ticks = start_ticks;
  head.end_ticks = end_ticks;
  put_ids(number, head.trace_id, head.span_id);
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

namespace {

// All but its start; word by word, because a reader may look meanwhile.
void describe(pool::OpenSpan& open, uint64_t span, std::string_view name) {
  pool::OpenSpan words{};
  put_ids(span, words.trace_id, words.span_id);
  words.kind = 1;
  words.name_bytes = static_cast<uint16_t>(name.size());
  std::memcpy(words.name, name.data(), std::min(name.size(), sizeof words.name));
  const auto* from = reinterpret_cast<const uint64_t*>(&words);
  auto* to = reinterpret_cast<std::atomic<uint64_t>*>(&open);
  for (size_t word = 0; word < sizeof open / sizeof(uint64_t); ++word) {
    if (word != offsetof(pool::OpenSpan, start_ticks) / sizeof(uint64_t))
      to[word].store(from[word], std::memory_order_relaxed);
  }
}

}  // namespace

void ScriptedPool::begin_span(uint32_t number, uint64_t span, std::string_view name, uint64_t start_ticks,
                              uint32_t tid) {
  pool::ThreadSlot& at = slot(number);
  uint32_t present = number / 4 * 4 + 4;  // pages
  if (triggers().slots_present.load() < present) triggers().slots_present.store(present);
  at.owner_tid.store(tid);
  uint32_t level = at.depth.load();
  if (level < pool::kOpenLevels) {
    pool::OpenSpan& open = at.levels[level];
    open.start_ticks.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    describe(open, span, name);
    open.start_ticks.store(start_ticks, std::memory_order_release);
  }
  at.depth.store(level + 1);
}

void ScriptedPool::end_span(uint32_t number) {
  pool::ThreadSlot& at = slot(number);
  uint32_t level = at.depth.load() - 1;
  if (level < pool::kOpenLevels) at.levels[level].start_ticks.store(0);
  at.depth.store(level);
}

void ScriptedPool::trigger(std::string_view reason, uint64_t number, uint64_t ticks) {
  uint32_t ticket = triggers().tickets.fetch_add(1);
  pool::TriggerNote& note = triggers().notes[ticket % pool::kTriggerNotes];
  note.ticket_plus_one.store(0);
  put_ids(number, note.trace_id, note.span_id);
  note.tid = 1;
  note.ticks = ticks;
  note.reason_bytes = static_cast<uint16_t>(reason.size());
  std::memcpy(note.reason, reason.data(), std::min(reason.size(), sizeof note.reason));
  note.ticket_plus_one.store(ticket + 1);
}

}  // namespace fathom::agent::testing
