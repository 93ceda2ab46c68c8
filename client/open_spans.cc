#include "client/open_spans.h"

namespace fathom::client {
namespace {

constexpr uint32_t kLooks = 64;  // for a slot, before memory for more of them is taken
constexpr uint32_t kSlotsOfPage = pool::kPageBytes / sizeof(pool::ThreadSlot);

// ---- slots ---------------------------------------------------------------------------------------------------------

// Acquire: what the owner before did to it is done.
bool own(pool::ThreadSlot& slot, uint32_t tid) {
  uint32_t nobody = 0;
  return slot.owner_tid.load(std::memory_order_relaxed) == 0 &&
         slot.owner_tid.compare_exchange_strong(nobody, tid, std::memory_order_acquire, std::memory_order_relaxed);
}

pool::ThreadSlot* claim_slot(const OpenArea& area, uint32_t tid) {
  const uint32_t present = live().slots_present.load(std::memory_order_acquire);
  uint32_t at = live().slot_hint.load(std::memory_order_relaxed);
  pool::ThreadSlot* found = nullptr;
  for (uint32_t looks = present < kLooks ? present : kLooks; looks > 0 && found == nullptr; looks--) {
    if (at >= present) at = 0;
    if (own(area.slots[at], tid)) found = &area.slots[at];
    at++;
  }
  live().slot_hint.store(at, std::memory_order_relaxed);
  return found;
}

// So that readers need not look for what was never used.
void tell_present(pool::TriggerPage& page, uint32_t present) {
  uint32_t told = page.slots_present.load(std::memory_order_relaxed);
  while (told < present && !page.slots_present.compare_exchange_weak(told, present, std::memory_order_release)) {
  }
}

// A page more of slots, of which one is the caller's, unless others were quicker.
pool::ThreadSlot* claim_new_slot(const OpenArea& area, uint32_t tid) {
  uint32_t present = live().slots_present.load(std::memory_order_acquire);
  while (present + kSlotsOfPage <= area.slot_count) {
    pool::ThreadSlot* slots = &area.slots[present];
    if (!make_present(reinterpret_cast<char*>(slots), pool::kPageBytes)) return nullptr;
    if (live().slots_present.compare_exchange_strong(present, present + kSlotsOfPage, std::memory_order_acq_rel)) {
      present += kSlotsOfPage;
      tell_present(*area.triggers, present);
    }
    for (uint32_t i = 0; i < kSlotsOfPage; i++) {
      if (own(slots[i], tid)) return &slots[i];
    }
  }
  return nullptr;
}

// ---- the thread's active spans -------------------------------------------------------------------------------------

// As many as are counted, and one that is just about to be.
uint32_t chain_length(const ThreadState& thread) {
  uint32_t length = 0;
  for (const SpanState* at = thread.active; at != nullptr && length <= thread.open; at = behind(*at)) length++;
  return length;
}

// A span of the process that this one was forked from is not open here: that one watches it. It is the thread's context
// all the same. Its name may be in memory that is the child's by now.
void describe_slowly(pool::OpenSpan& level, const SpanState& span) {
  if (!is_ours(span)) return describe(level, span.record, nullptr, 0, 0);
  const char* bytes = record_bytes(span);
  const auto& record = *reinterpret_cast<const pool::SpanRecord*>(bytes);
  describe(level, record, bytes + sizeof record, record.name_bytes, record.start_ticks);
}

void describe_chain(const ThreadState& thread, pool::ThreadSlot& slot, uint32_t from) {
  uint32_t level = chain_length(thread);
  for (const SpanState* at = thread.active; at != nullptr && level > from; at = behind(*at)) {
    level--;
    if (level < pool::kOpenLevels) describe_slowly(slot.levels[level], *at);
  }
}

void clear_levels(pool::ThreadSlot& slot, uint32_t from) {
  for (uint32_t level = from; level < pool::kOpenLevels; level++) {
    slot.levels[level].start_ticks.store(0, std::memory_order_relaxed);
    store_word(word_of_valid(slot.levels[level]), 0, std::memory_order_relaxed);
  }
}

// For OTEP 4947, where there is no level to point to.
void publish_privately(ThreadState& thread) {
  PublishedSpan& record = thread.published;
  record.valid = 0;
  signal_fence();
  const SpanState* span = thread.active;
  if (span != nullptr) {
    std::memcpy(record.trace_id, span->record.trace_id, sizeof record.trace_id);
    std::memcpy(record.span_id, span->record.span_id, sizeof record.span_id);
    record.flags = span->record.flags & kTraceFlags;
    signal_fence();
    record.valid = 1;
  }
  signal_fence();
  *thread.context = &record;
}

}  // namespace

OpenArea open_area(char* pool) {
  if (pool == nullptr || settings.thread_slots == 0) return {};
  char* begin = pool + pool_geometry().open_offset;
  return {reinterpret_cast<pool::TriggerPage*>(begin), reinterpret_cast<pool::ThreadSlot*>(begin + pool::kPageBytes),
          settings.thread_slots};
}

void take_slot(ThreadState& thread) {
  if (thread.slot != nullptr) return;
  const OpenArea area = open_area(thread.pool);
  if (area.slots == nullptr) return;
  pool::ThreadSlot* slot = claim_slot(area, thread.writer.tid);
  if (slot == nullptr) slot = claim_new_slot(area, thread.writer.tid);
  if (slot == nullptr) return;
  describe_chain(thread, *slot, 0);
  thread.slot = slot;
}

void give_slot_back(ThreadState& thread) {
  pool::ThreadSlot* slot = thread.slot;
  if (slot == nullptr) return;
  // From here on signal handlers have another slot, or none.
  thread.slot = nullptr;
  signal_fence();
  tell_position(thread);
  slot->depth.store(0, std::memory_order_relaxed);
  clear_levels(*slot, 0);
  slot->owner_tid.store(0, std::memory_order_release);
  const OpenArea area = open_area(thread.pool);
  live().slot_hint.store(static_cast<uint32_t>(slot - area.slots), std::memory_order_relaxed);
}

void leave_parents_slot(ThreadState& thread) {
  thread.slot = nullptr;
  signal_fence();
  if (thread.context != nullptr) publish_privately(thread);
}

void mark_inherited(const ThreadState& thread) {
  uint32_t level = 0;
  for (SpanState* at = thread.active; at != nullptr && level <= thread.open; at = behind(*at), level++) {
    if (at->generation == thread.generation) at->flags |= kInherited;
  }
}

void describe_again(ThreadState& thread, const SpanState& span) {
  const uint32_t level = level_of(thread, span);
  pool::ThreadSlot* slot = thread.slot;
  if (slot != nullptr && level < pool::kOpenLevels) describe_slowly(slot->levels[level], span);
}

// What lies above the gap is not shown while it moves down.
void close_gap(ThreadState& thread, uint32_t level) {
  if (pool::ThreadSlot* slot = thread.slot; slot != nullptr) {
    slot->depth.store(level, std::memory_order_relaxed);
    describe_chain(thread, *slot, level);
  }
  hide(thread);
}

void show_none(ThreadState& thread) {
  thread.open = 0;
  signal_fence();
  tell_position(thread);
  if (thread.slot != nullptr) clear_levels(*thread.slot, 0);
}

uint32_t level_of(const ThreadState& thread, const SpanState& span) {
  uint32_t level = chain_length(thread);
  for (const SpanState* at = thread.active; at != nullptr && level > 0; at = behind(*at)) {
    level--;
    if (at == &span) return level;
  }
  return ~0U;
}

void show_slowly(ThreadState& thread, const SpanState& span, uint32_t level) {
  pool::ThreadSlot* slot = thread.slot;
  if (slot != nullptr && level < pool::kOpenLevels) describe_slowly(slot->levels[level], span);
  tell_position(thread);
}

// Again where a signal handler has brought another slot meanwhile, by a fork.
void tell_position(ThreadState& thread) {
  const pool::ThreadSlot* seen;
  do {
    if (static_cast<int32_t>(thread.open) < 0) thread.open = 0;  // more ended than began: the program misused them
    pool::ThreadSlot* slot = thread.slot;
    const uint32_t open = thread.open;
    seen = slot;
    if (slot != nullptr) slot->depth.store(open, std::memory_order_release);
    if (slot != nullptr && open <= pool::kOpenLevels) {
      *thread.context = record_at(slot, open);
    } else {
      publish_privately(thread);
    }
    signal_fence();
  } while (thread.slot != seen);
}

}  // namespace fathom::client
