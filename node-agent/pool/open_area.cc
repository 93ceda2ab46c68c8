#include "node-agent/pool/open_area.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace fathom::agent {

namespace {

// Another process writes while we copy: word by word, so that each word is one that was there. T has no padding that
// matters, and is made of whole words.
template <typename T>
void copy_words(const T& from, T& to) {
  static_assert(sizeof(T) % sizeof(uint64_t) == 0);
  const auto* source = reinterpret_cast<const std::atomic<uint64_t>*>(&from);
  auto* target = reinterpret_cast<char*>(&to);
  for (size_t i = 0; i < sizeof(T) / sizeof(uint64_t); ++i) {
    uint64_t word = source[i].load(std::memory_order_relaxed);
    std::memcpy(target + i * sizeof word, &word, sizeof word);
  }
}

// What the layout has, without its atomics.
struct alignas(8) SpanWords {
  uint8_t trace_id[16];
  uint8_t span_id[8];
  uint8_t valid;
  uint8_t flags;
  uint16_t attributes_size;
  uint8_t kind;
  uint8_t unused;
  uint16_t name_bytes;
  uint64_t start_ticks;
  char name[88];
};
static_assert(sizeof(SpanWords) == sizeof(pool::OpenSpan) &&
              offsetof(SpanWords, name) == offsetof(pool::OpenSpan, name));

struct alignas(8) NoteWords {
  uint32_t ticket_plus_one;
  uint32_t tid;
  uint64_t ticks;
  uint8_t trace_id[16];
  uint8_t span_id[8];
  uint16_t reason_bytes;
  char reason[86];
};
static_assert(sizeof(NoteWords) == sizeof(pool::TriggerNote) &&
              offsetof(NoteWords, reason) == offsetof(pool::TriggerNote, reason));

}  // namespace

Result<std::shared_ptr<const OpenArea>> OpenArea::map(const PoolFile& file) {
  uint32_t slots = file.shape().thread_slots;
  if (slots == 0) return not_found("this program does not say what it has open");
  uint64_t offset = file.shape().open_offset;
  size_t bytes = pool::open_area_bytes(slots);
  void* mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.descriptor(), static_cast<off_t>(offset));
  if (mapping == MAP_FAILED) return system_error("cannot map the open spans of a program");
  return std::shared_ptr<const OpenArea>(new OpenArea(static_cast<char*>(mapping), slots));
}

OpenArea::~OpenArea() {
  ::munmap(page_, pool::open_area_bytes(slots_));
}

std::optional<OpenSpanCopy> OpenArea::read(uint32_t slot, uint32_t level) const {
  const pool::ThreadSlot& from = slot_at(slot);
  const pool::OpenSpan& span = from.levels[level];
  if (depth(slot) <= level) return std::nullopt;
  uint64_t start_ticks = span.start_ticks.load(std::memory_order_acquire);
  if (start_ticks == 0) return std::nullopt;
  SpanWords words;
  copy_words(reinterpret_cast<const SpanWords&>(span), words);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (span.start_ticks.load(std::memory_order_relaxed) != start_ticks) return std::nullopt;
  if (from.depth.load(std::memory_order_relaxed) <= level) return std::nullopt;
  OpenSpanCopy copy{.start_ticks = start_ticks, .kind = words.kind, .name_bytes = words.name_bytes};
  std::memcpy(copy.trace_id.bytes.data(), words.trace_id, sizeof words.trace_id);
  std::memcpy(copy.span_id.bytes.data(), words.span_id, sizeof words.span_id);
  std::memcpy(copy.begin_of_name.data(), words.name, sizeof words.name);
  return copy;
}

std::vector<ThreadSpan> OpenArea::all_open(uint32_t most_slots) const {
  std::vector<ThreadSpan> all;
  uint32_t end = std::min(end_of_used(), most_slots);
  for (uint32_t slot = 0; slot < end && all.size() < kMostOpen; ++slot) {
    uint32_t tid = owner(slot);
    uint32_t levels = tid == 0 ? 0 : depth(slot);
    for (uint32_t level = 0; level < levels; ++level) {
      if (std::optional<OpenSpanCopy> span = read(slot, level)) all.push_back({slot, level, tid, *span});
    }
  }
  return all;
}

std::optional<ProgramTrigger> OpenArea::read_trigger(uint32_t ticket) const {
  const pool::TriggerNote& note = triggers().notes[ticket % pool::kTriggerNotes];
  uint32_t mark = ticket + 1;
  if (note.ticket_plus_one.load(std::memory_order_acquire) != mark) return std::nullopt;
  NoteWords words;
  copy_words(reinterpret_cast<const NoteWords&>(note), words);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (note.ticket_plus_one.load(std::memory_order_relaxed) != mark) return std::nullopt;
  ProgramTrigger trigger{.tid = words.tid, .ticks = words.ticks};
  std::memcpy(trigger.trace_id.bytes.data(), words.trace_id, sizeof words.trace_id);
  std::memcpy(trigger.span_id.bytes.data(), words.span_id, sizeof words.span_id);
  trigger.reason.assign(words.reason, std::min<size_t>(words.reason_bytes, sizeof words.reason));
  return trigger;
}

OpenArea::Triggers OpenArea::new_triggers(uint32_t& ticket, bool give_up) const {
  Triggers found;
  uint32_t end = next_ticket();
  if (end - ticket > pool::kTriggerNotes) {
    found.lost = end - ticket - pool::kTriggerNotes;
    ticket = end - pool::kTriggerNotes;
  }
  for (; ticket != end; ++ticket) {
    if (std::optional<ProgramTrigger> trigger = read_trigger(ticket)) {
      found.triggers.push_back(*std::move(trigger));
    } else if (give_up || next_ticket() - ticket > pool::kTriggerNotes) {
      ++found.lost;  // never finished, or its place was taken while we looked
    } else {
      found.waits = true;
      break;
    }
  }
  return found;
}

}  // namespace fathom::agent
