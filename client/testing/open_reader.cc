#include "client/testing/open_reader.h"

#include <algorithm>
#include <cstring>

#include "client/pool/layout.h"
#include "client/process.h"
#include "client/testing/hex.h"

namespace fathom::client::testing {
namespace {

// Word by word, as the program stores it.
template <typename T>
void copy_out(const T& from, char (&to)[sizeof(T)]) {
  for (size_t at = 0; at < sizeof(T); at += 8) {
    const auto* word = reinterpret_cast<const uint64_t*>(reinterpret_cast<const char*>(&from) + at);
    const uint64_t value = std::atomic_ref<uint64_t>(*const_cast<uint64_t*>(word)).load(std::memory_order_relaxed);
    std::memcpy(to + at, &value, sizeof value);
  }
}

ReadLevel parse(const char* bytes, uint64_t start_ticks) {
  ReadLevel level;
  const auto* ids = reinterpret_cast<const uint8_t*>(bytes);
  uint16_t name_bytes;
  std::memcpy(&name_bytes, bytes + offsetof(pool::OpenSpan, name_bytes), sizeof name_bytes);
  level.start_ticks = start_ticks;
  level.trace_id = hex(ids, 16);
  level.span_id = hex(ids + 16, 8);
  level.flags = ids[offsetof(pool::OpenSpan, flags)];
  level.kind = ids[offsetof(pool::OpenSpan, kind)];
  level.name_bytes = name_bytes;
  level.name.assign(bytes + offsetof(pool::OpenSpan, name), std::min<size_t>(name_bytes, sizeof(pool::OpenSpan::name)));
  return level;
}

}  // namespace

OpenReader::OpenReader(const char* base) {
  if (base == nullptr) return;
  const auto& header = *reinterpret_cast<const pool::Header*>(base);
  if (header.thread_slots == 0) return;
  const char* area = base + header.chunks_offset - pool::open_area_bytes(header.thread_slots);
  page_ = reinterpret_cast<const pool::TriggerPage*>(area);
  slots_ = reinterpret_cast<const pool::ThreadSlot*>(area + sizeof(pool::TriggerPage));
  count_ = header.thread_slots;
}

OpenReader OpenReader::of_this_process() {
  return OpenReader(live().pool.load());
}

std::optional<ReadLevel> OpenReader::level(const pool::ThreadSlot& slot, uint32_t number) const {
  const pool::OpenSpan& open = slot.levels[number];
  const uint64_t before = open.start_ticks.load(std::memory_order_acquire);
  if (before == 0) return std::nullopt;
  alignas(pool::OpenSpan) char bytes[sizeof(pool::OpenSpan)];
  copy_out(open, bytes);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (open.start_ticks.load(std::memory_order_relaxed) != before) return std::nullopt;
  if (slot.depth.load(std::memory_order_acquire) <= number) return std::nullopt;
  return parse(bytes, before);
}

std::optional<ReadSlot> OpenReader::slot(uint32_t number) const {
  const pool::ThreadSlot& slot = slots_[number];
  ReadSlot read;
  read.tid = slot.owner_tid.load(std::memory_order_acquire);
  if (read.tid == 0) return std::nullopt;
  read.depth = slot.depth.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < std::min(read.depth, pool::kOpenLevels); i++) read.levels.push_back(level(slot, i));
  return read;
}

std::vector<ReadSlot> OpenReader::slots() const {
  std::vector<ReadSlot> all;
  for (uint32_t i = 0; i < count_; i++) {
    if (auto read = slot(i)) all.push_back(std::move(*read));
  }
  return all;
}

std::optional<ReadSlot> OpenReader::slot_of(uint32_t tid) const {
  for (ReadSlot& slot : slots()) {
    if (slot.tid == tid) return std::move(slot);
  }
  return std::nullopt;
}

std::vector<ReadNote> OpenReader::notes() const {
  std::vector<ReadNote> all;
  if (page_ == nullptr) return all;
  const uint32_t tickets = page_->tickets.load(std::memory_order_acquire);
  for (uint32_t ticket = tickets > pool::kTriggerNotes ? tickets - pool::kTriggerNotes : 0; ticket < tickets;
       ticket++) {
    const pool::TriggerNote& note = page_->notes[ticket % pool::kTriggerNotes];
    if (note.ticket_plus_one.load(std::memory_order_acquire) != ticket + 1) continue;
    alignas(pool::TriggerNote) char bytes[sizeof note];
    copy_out(note, bytes);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (note.ticket_plus_one.load(std::memory_order_relaxed) != ticket + 1) continue;
    const auto* copy = reinterpret_cast<const pool::TriggerNote*>(bytes);
    all.push_back({ticket, copy->tid, copy->ticks, hex(copy->trace_id, 16), hex(copy->span_id, 8),
                   std::string(copy->reason, std::min<size_t>(copy->reason_bytes, sizeof copy->reason))});
  }
  return all;
}

bool OpenReader::ended() const {
  return page_ != nullptr && page_->ended.load(std::memory_order_acquire) == 1;
}

}  // namespace fathom::client::testing
