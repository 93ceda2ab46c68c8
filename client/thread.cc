#include "client/thread.h"

#include <pthread.h>
#include <unistd.h>

#include "client/detail/writer.h"
#include "client/fathom/trace_c.h"
#include "client/helper.h"
#include "client/open_spans.h"
#include "client/setup.h"
#include "client/signal_context.h"

// OTEP 4947: where tools look for the thread's current span. The symbol is found by name, so it belongs to everybody.
extern "C" {
FATHOM_EXPORT extern __thread const void* otel_thread_ctx_v1 __attribute__((tls_model("global-dynamic")));
FATHOM_EXPORT __thread const void* otel_thread_ctx_v1 = nullptr;
}

namespace fathom::client {

constinit thread_local ThreadState this_thread __attribute__((tls_model("initial-exec")));

namespace {

pthread_key_t end_key;
bool has_end_key = false;
// The C library keeps the values of the first keys in the thread itself; for the others it would allocate memory.
constexpr pthread_key_t kKeysWithoutAllocation = 32;

void give_up_chunk(ThreadState& thread) {
  const PoolView view = view_of(thread.pool);
  if (pool::ChunkEntry* entry = thread.writer.entry.load(std::memory_order_relaxed)) {
    retire_chunk(view, thread.writer, retired_links, entry);
  }
  seal_when_idle(view, thread.writer, retired_links);
}

// Other destructors and signal handlers may make spans from here on: those bring the thread back, with the chunk that
// it may still have, and this is called again.
void at_thread_end(void* state) {
  ThreadState& thread = *static_cast<ThreadState*>(state);
  if (thread.generation != live().generation.load(std::memory_order_relaxed)) return;
  // Before anything of the pool is touched: the child of a handler's fork leaves that memory in its place.
  thread.ending = true;
  thread.ended = thread.generation;
  signal_fence();
  // From here on the first event of a handler brings the thread back, and so has its chunk left by the next call.
  thread.generation = ~0U;
  thread.serving = nullptr;
  signal_fence();
  detail::leave_thread();
  give_slot_back(thread);
  if (thread.pool != nullptr) give_up_chunk(thread);
  signal_fence();
  thread.ending = false;
  want_helper_safely();
}

void watch_thread_end(ThreadState& thread, const sigset_t& mask) {
  if (has_end_key && (end_key < kKeysWithoutAllocation || !maybe_in_signal_handler(mask))) {
    pthread_setspecific(end_key, &thread);
  }
}

void leave_old_process(ThreadState& thread) {
  mark_inherited(thread);
  thread.pool = nullptr;
  thread.slot = nullptr;
  thread.writer.entry.store(nullptr, std::memory_order_relaxed);
  thread.writer.retired.store(0, std::memory_order_relaxed);
  thread.writer.starved = false;
}

}  // namespace

void prepare_for_thread_ends() {
  has_end_key = pthread_key_create(&end_key, at_thread_end) == 0;
}

// A handler that came first here would be undone by what it interrupted.
uint32_t enter(ThreadState& thread) {
  const ErrnoKept errno_kept;
  set_up();
  const SignalsBlocked blocked;
  const uint32_t generation = ensure_generation();
  if (thread.generation == generation) return generation;
  if (thread.ended != generation) leave_old_process(thread);
  IdSource::Seed seed;
  random_bytes(&seed, sizeof seed);
  thread.ids.seed(seed);
  thread.writer.tid = static_cast<uint32_t>(gettid());
  thread.pool = ensure_pool();
  thread.context = &otel_thread_ctx_v1;
  take_slot(thread);
  tell_position(thread);
  watch_thread_end(thread, blocked.before());
  thread.generation = generation;
  want_helper(blocked.before());
  return generation;
}

bool store_record_slowly(ThreadState& thread, uint32_t generation, const char* record, uint32_t bytes) {
  if (thread.pool == nullptr) thread.pool = ensure_pool();
  return thread.pool != nullptr && store_record(thread, generation, record, bytes);
}

void tidy_up(ThreadState& thread) {
  seal_when_idle(view_of(thread.pool), thread.writer, retired_links);
  if (thread.writer.fresh) after_claim(thread);
}

void after_claim(ThreadState& thread) {
  thread.writer.fresh = false;
  settle_losses();
  if (!helper_is_due()) return;
  const ErrnoKept errno_kept;
  const SignalsBlocked blocked;
  want_helper(blocked.before());
}

}  // namespace fathom::client
