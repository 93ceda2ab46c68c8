// What the client library knows of one thread: its chunk, its ids, its active span.
//
// Purpose: one small structure in static thread-local storage, so that reaching it costs an addition, also in a library
// that was loaded late. Thread safety: the thread's own, its signal handlers included. Errors: none.
#pragma once

#include "client/chunks.h"
#include "client/ids.h"
#include "client/pool/open_spans.h"
#include "client/process.h"

namespace fathom::client {

struct ServingState;
struct SpanState;

// The thread's active span for whoever looks from outside, where it has no level in a slot: the record of OTEP 4947,
// which is packed by construction.
struct PublishedSpan {
  uint8_t trace_id[16];
  uint8_t span_id[8];
  volatile uint8_t valid;
  uint8_t flags;
  uint16_t attributes_size;  // we have none
};
static_assert(sizeof(PublishedSpan) == 28);

struct ThreadState {
  uint32_t generation = ~0U;  // of the process that this was prepared for; never another's
  uint32_t ended = ~0U;       // the same, when the thread has ended there: it may still come back
  bool ending = false;        // at_thread_end() is under way
  char* pool = nullptr;
  SpanState* active = nullptr;
  WriterThread writer;
  IdSource ids;
  PublishedSpan published = {};
  uint32_t open = 0;                 // active spans
  pool::ThreadSlot* slot = nullptr;  // where they are described; null: nowhere
  const void** context = nullptr;    // where OTEP 4947's pointer is; null: the thread was not prepared yet
  ServingState* serving = nullptr;   // the set that its events belong to
};

// Late-loaded libraries share a few hundred bytes of this storage.
static_assert(sizeof(ThreadState) <= 160);

extern constinit thread_local ThreadState this_thread __attribute__((tls_model("initial-exec")));

// Makes the thread part of this process, which may be new (a fork) or new to us; returns the generation.
uint32_t enter(ThreadState& thread);

// The thread's pool, as long as the process is that one: a fork in a signal handler makes it another.
struct SeePool {
  const ThreadState& thread;
  const uint32_t generation;
  FATHOM_INLINED bool operator()(PoolView& view) const {
    view = view_of(thread.pool);
    signal_fence();
    return live().generation.load(std::memory_order_relaxed) == generation;
  }
};

// A finished record of whole words, of a span of `generation`, to the pool; the slow parts behind a call. False: the
// pool is full, or there is none.
bool store_record_slowly(ThreadState& thread, uint32_t generation, const char* record, uint32_t bytes);
void after_claim(ThreadState& thread);
inline bool store_record(ThreadState& thread, uint32_t generation, const char* record, uint32_t bytes) {
  if (unlikely(thread.pool == nullptr)) return store_record_slowly(thread, generation, record, bytes);
  const SeePool see{thread, generation};
  const bool stored = put(see, thread.writer, retired_links, live().hint, record, bytes);
  if (unlikely(thread.writer.fresh)) after_claim(thread);
  return stored;
}

// The same for what nearly always is so (put_at_once); `tidy_up` is then due where it says so.
inline bool store_at_once(ThreadState& thread, uint32_t generation, const char* record, uint32_t bytes) {
  return put_at_once(SeePool{thread, generation}, thread.writer, record, bytes);
}
inline bool needs_tidying(const ThreadState& thread) {
  return thread.writer.retired.load(std::memory_order_relaxed) != 0 || thread.writer.fresh;
}
void tidy_up(ThreadState& thread);

// The end of a thread seals its chunk.
void prepare_for_thread_ends();

}  // namespace fathom::client
