// fathom_trigger(), and the mark of an orderly end: what the program itself says in area 5.
#include "client/fathom/trace_c.h"
#include "client/open_spans.h"

namespace fathom::client {
namespace {

pool::TriggerPage* trigger_page() {
  return open_area(live().pool.load(std::memory_order_acquire)).triggers;
}

// A place is a writer's from when it has zeroed the ticket there until it has stored its own. One that is found zero
// after the first lap is somebody's who was interrupted a lap ago: the note is given up, and its ticket tells that
// there was one.
bool take_place(pool::TriggerNote& note, uint32_t ticket) {
  uint32_t before = note.ticket_plus_one.load(std::memory_order_relaxed);
  if (before == 0) return ticket < pool::kTriggerNotes;
  return note.ticket_plus_one.compare_exchange_strong(before, 0, std::memory_order_acquire, std::memory_order_relaxed);
}

void put_word(void* at, const void* from) {
  store_word(at, load_word(from), std::memory_order_relaxed);
}

void fill_note(pool::TriggerNote& note, const ThreadState& thread, fathom_text reason) {
  pool::TriggerNote made = {};
  made.tid = thread.writer.tid;
  made.ticks = ticks();
  if (const SpanState* active = thread.active; active != nullptr) {
    std::memcpy(made.trace_id, active->record.trace_id, sizeof made.trace_id);
    std::memcpy(made.span_id, active->record.span_id, sizeof made.span_id);
  }
  const size_t size = cut_size(reason, sizeof made.reason);
  if (size < reason.size) count_loss(pool::kCutValues);
  made.reason_bytes = static_cast<uint16_t>(size);
  if (size != 0) std::memcpy(made.reason, reason.data, size);
  std::atomic_ref<uint32_t>(note.tid).store(made.tid, std::memory_order_relaxed);
  for (size_t at = offsetof(pool::TriggerNote, ticks); at < sizeof made; at += 8) {
    put_word(reinterpret_cast<char*>(&note) + at, reinterpret_cast<const char*>(&made) + at);
  }
}

// Static destructors and exit handlers that come later may still trace, and make the pool.
std::atomic<bool> has_ended{false};

__attribute__((destructor)) void when_the_program_ends() {
  has_ended.store(true, std::memory_order_relaxed);
  mark_end(live().pool.load(std::memory_order_acquire));
}

}  // namespace

void mark_end(char* pool) {
  pool::TriggerPage* page = open_area(pool).triggers;
  if (page != nullptr && has_ended.load(std::memory_order_relaxed)) page->ended.store(1, std::memory_order_release);
}

}  // namespace fathom::client

using namespace fathom::client;  // NOLINT(google-build-using-namespace)

extern "C" void fathom_trigger(fathom_text reason) {
  ThreadState& thread = this_thread;
  if (thread.generation != live().generation.load(std::memory_order_relaxed)) enter(thread);
  fathom::pool::TriggerPage* page = trigger_page();
  if (page == nullptr) return count_loss(fathom::pool::kLostDetails);
  const uint32_t ticket = page->tickets.fetch_add(1, std::memory_order_acq_rel);
  fathom::pool::TriggerNote& note = page->notes[ticket % fathom::pool::kTriggerNotes];
  if (!take_place(note, ticket)) return;
  std::atomic_thread_fence(std::memory_order_release);
  fill_note(note, thread, checked(reason));
  note.ticket_plus_one.store(ticket + 1, std::memory_order_release);
}
