// What is open in this thread, for whoever looks from outside: its slot in area 5 of the span pool, and OTEP 4947's
// pointer.
//
// Purpose: an active span is described where the agent sees it while it runs, and the thread's pointer leads to that
// same description, so that the end of a span copies nothing. Thread safety: the thread's own, its signal handlers
// included. Ownership: a slot is the thread's from enter() to its end. Errors: a thread for which no slot is found, and
// spans deeper than kOpenLevels, are shown to OTEP 4947 alone, by a record in the thread's own memory.
//
// The rules that let a signal handler begin and end spans at any instruction of this:
// - Handlers leave `open` as they found it, so a load and a store of it may be apart. A level is taken by counting
// `open`
//   up before anything is written to it: what handlers begin from then on lies above.
// - A level is not described (start_ticks zero) from before its first word changes until after its last one, and again
//   from the end of its span on, so that a level which was just taken says nothing.
// - When a span ends, `open` is counted down first: where a handler takes the level before its start_ticks is zeroed,
//   it zeroes it itself, and leaves it zero.
// - The slot is looked up after `open` was counted, and again after the last store: where a handler forked and the
// child
//   has another slot, or none, the position is told again. What was stored in between went to memory that in_child()
//   (fork.cc) left there for it.
#pragma once

#include "client/span_state.h"

namespace fathom::client {

// Area 5 of the process's pool.
struct OpenArea {
  pool::TriggerPage* triggers = nullptr;  // null: this pool has none
  pool::ThreadSlot* slots = nullptr;
  uint32_t slot_count = 0;
};
OpenArea open_area(char* pool);

// The program has come to its orderly end, as far as that is known.
void mark_end(char* pool);

// With signals blocked. A slot of the thread's own, in which its active spans are described; without one it stays as it
// is.
void take_slot(ThreadState& thread);
// The thread ends.
void give_slot_back(ThreadState& thread);
// What the thread has was another process's, which goes on writing to it. Looked at twice: a signal handler may fork
// and trace in between.
inline bool has_parents_slot(const ThreadState& thread) {
  const uint32_t own = thread.generation;
  signal_fence();
  const uint32_t generation = live().generation.load(std::memory_order_relaxed);
  if (likely(own == generation)) return false;
  signal_fence();
  return thread.generation == own && thread.ended != generation && thread.slot != nullptr;
}
void leave_parents_slot(ThreadState& thread);
// Marks the active spans that the thread brings from its old process (kInherited). Called before the thread enters the
// new process. Does not write to a span whose memory was overwritten.
void mark_inherited(const ThreadState& thread);

// The active span's description changed.
void describe_again(ThreadState& thread, const SpanState& span);
// A span that was not the innermost one is not active any more: `level` of the outermost is 0.
void close_gap(ThreadState& thread, uint32_t level);
// None is active any more, whatever was.
void show_none(ThreadState& thread);
// Where `span` is among the active ones, the outermost first; ~0: nowhere.
uint32_t level_of(const ThreadState& thread, const SpanState& span);

// The rare cases of show() and hide().
void show_slowly(ThreadState& thread, const SpanState& span, uint32_t level);
void tell_position(ThreadState& thread);

// The one that was active before; but behind a span that is not active itself, because another thread ended it or its
// memory is something else by now, nothing is believed.
inline SpanState* behind(const SpanState& span) {
  return (span.flags & kActive) != 0 ? span.outer : nullptr;
}

// The record of OTEP 4947 when so many spans are open. For none, it is the slot's own first words: `valid` among them
// is always zero.
inline const void* record_at(const pool::ThreadSlot* slot, uint32_t open) {
  return reinterpret_cast<const char*>(slot) + size_t{open} * sizeof(pool::OpenSpan);
}

// A reader in another process looks at any time: words, each in one piece.
FATHOM_INLINED void store_word(void* at, uint64_t word, std::memory_order order) {
  std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(at)).store(word, order);
}
inline uint64_t load_word(const void* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

inline constexpr size_t kWordOfValid = 24;
static_assert(offsetof(pool::OpenSpan, valid) == kWordOfValid && offsetof(pool::OpenSpan, flags) == 25 &&
              offsetof(pool::OpenSpan, kind) == 28 && offsetof(pool::OpenSpan, name_bytes) == 30);

FATHOM_INLINED void* word_of_valid(pool::OpenSpan& level) {
  return reinterpret_cast<char*>(&level) + kWordOfValid;
}

// valid, flags, kind and name_bytes, as one word each here and there.
FATHOM_INLINED uint64_t description_word(const pool::SpanRecord& record) {
  const uint64_t fields = load_word(&record.kind);
  return 1 | (fields >> 8 & uint64_t{kTraceFlags} << 8) | (fields & 0xff) << 32 |
         (fields << 16 & uint64_t{0xffff} << 48);
}

// `name` may be read up to the next whole word. Ids word by word: they were just written so.
FATHOM_INLINED void describe(pool::OpenSpan& level, const pool::SpanRecord& record, const char* name, size_t name_bytes,
                             uint64_t start_ticks) {
  level.start_ticks.store(0, std::memory_order_relaxed);
  store_word(word_of_valid(level), 0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  store_word(level.trace_id, load_word(record.trace_id), std::memory_order_relaxed);
  store_word(level.trace_id + 8, load_word(record.trace_id + 8), std::memory_order_relaxed);
  store_word(level.span_id, load_word(record.span_id), std::memory_order_relaxed);
  for (size_t at = 0; at < name_bytes && at < sizeof level.name; at += 8) {
    store_word(level.name + at, load_word(name + at), std::memory_order_relaxed);
  }
  store_word(word_of_valid(level), description_word(record), std::memory_order_release);
  level.start_ticks.store(start_ticks, std::memory_order_release);
}

// `span` has just become the thread's active one.
FATHOM_INLINED void show(ThreadState& thread, const SpanState& span) {
  const uint32_t level = thread.open;
  thread.open = level + 1;
  signal_fence();
  pool::ThreadSlot* slot = thread.slot;
  if (unlikely(slot == nullptr || level >= pool::kOpenLevels || span.slab != 0 ||
               span.generation != thread.generation)) {
    return show_slowly(thread, span, level);
  }
  describe(slot->levels[level], span.record, span.text, span.record.name_bytes, span.record.start_ticks);
  slot->depth.store(level + 1, std::memory_order_release);
  signal_fence();
  *thread.context = &slot->levels[level];
  signal_fence();
  if (unlikely(thread.slot != slot)) tell_position(thread);
}

// The one that was active before is so again.
FATHOM_INLINED void hide(ThreadState& thread) {
  const uint32_t level = thread.open - 1;
  thread.open = level;
  signal_fence();
  pool::ThreadSlot* slot = thread.slot;
  if (unlikely(slot == nullptr || level >= pool::kOpenLevels)) return tell_position(thread);
  slot->levels[level].start_ticks.store(0, std::memory_order_relaxed);
  slot->depth.store(level, std::memory_order_relaxed);
  signal_fence();
  *thread.context = record_at(slot, level);
  signal_fence();
  if (unlikely(thread.slot != slot)) tell_position(thread);
}

}  // namespace fathom::client
