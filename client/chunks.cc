#include "client/chunks.h"

#include "client/pool_memory.h"

namespace fathom::client {
namespace {

constexpr uint32_t kProbes = 64;        // before another chunk is brought into use
constexpr uint32_t kStarvedProbes = 4;  // per lost span
constexpr uint64_t kMemoryAgainNano = 100'000'000;

bool is_free(uint64_t state) {
  return static_cast<uint32_t>(state) == pool::kFree;
}

// The writer's words are zeroed while no reader looks.
bool take(pool::ChunkEntry& entry, uint32_t tid) {
  uint64_t state = entry.state.load(std::memory_order_relaxed);
  if (!is_free(state)) return false;
  uint32_t epoch = static_cast<uint32_t>(state >> 32) + 1;
  if (epoch == 0) epoch = 1;
  // Acquire: the reader's last looks at this chunk were before it freed it.
  if (!entry.state.compare_exchange_strong(state, pool::pack_state(epoch, pool::kClaimed), std::memory_order_acquire)) {
    return false;
  }
  entry.reserved.store(0, std::memory_order_relaxed);
  entry.committed.store(0, std::memory_order_relaxed);
  entry.owner_tid.store(tid, std::memory_order_relaxed);
  entry.state.store(pool::pack_state(epoch, pool::kOwned), std::memory_order_release);
  return true;
}

// Chunks in use, as far as they are believable.
uint32_t used_chunks(const PoolView& view) {
  const uint32_t used = view.header->chunks_used.load(std::memory_order_relaxed);
  return used < view.chunk_count ? used : view.chunk_count;
}

pool::ChunkEntry* claim_used(const PoolView& view, uint32_t tid, std::atomic<uint32_t>& hint, uint32_t probes) {
  const uint32_t used = used_chunks(view);
  uint32_t at = hint.load(std::memory_order_relaxed);
  pool::ChunkEntry* found = nullptr;
  for (uint32_t n = used < probes ? used : probes; n > 0 && found == nullptr; n--) {
    if (at >= used) at = 0;
    if (take(view.entries[at], tid)) found = &view.entries[at];
    at++;
  }
  hint.store(at, std::memory_order_relaxed);
  return found;
}

bool may_ask_for_memory(const WriterThread& thread) {
  return thread.memory_again_nano == 0 || monotonic_nano() >= thread.memory_again_nano;
}

pool::ChunkEntry* claim_next(const PoolView& view, WriterThread& thread) {
  for (;;) {
    const uint32_t used = view.header->chunks_used.load(std::memory_order_relaxed);
    if (used >= view.chunk_count || !may_ask_for_memory(thread)) return nullptr;
    const bool refused = !make_present(view.data(&view.entries[used]), pool::kChunkBytes);
    thread.memory_again_nano = refused ? monotonic_nano() + kMemoryAgainNano : 0;
    if (refused) return nullptr;
    uint32_t expected = used;
    view.header->chunks_used.compare_exchange_strong(expected, used + 1, std::memory_order_relaxed);
    // Whoever raised the number, the chunk goes to the one who takes it.
    if (take(view.entries[used], thread.tid)) return &view.entries[used];
  }
}

}  // namespace

pool::ChunkEntry* claim_chunk(PoolView view, WriterThread& thread, std::atomic<uint32_t>& hint) {
  pool::ChunkEntry* found = claim_used(view, thread.tid, hint, thread.starved ? kStarvedProbes : kProbes);
  if (found == nullptr) found = claim_next(view, thread);
  if (found == nullptr && !thread.starved) found = claim_used(view, thread.tid, hint, view.chunk_count);
  thread.starved = found == nullptr;
  thread.fresh = true;
  return found;
}

void unclaim_chunk(pool::ChunkEntry* entry) {
  const uint64_t state = entry->state.load(std::memory_order_relaxed);
  entry->state.store(pool::pack_state(static_cast<uint32_t>(state >> 32), pool::kFree), std::memory_order_release);
}

void retire_chunk(PoolView view, WriterThread& thread, RetiredLinks& links, pool::ChunkEntry* entry) {
  // Only one of the put()s that found it full retires it.
  pool::ChunkEntry* expected = entry;
  if (!thread.entry.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed)) return;
  const uint32_t number = view.number(entry);
  uint32_t first = thread.retired.load(std::memory_order_relaxed);
  do {
    links[number].store(static_cast<uint16_t>(first), std::memory_order_relaxed);
  } while (!thread.retired.compare_exchange_weak(first, number + 1, std::memory_order_relaxed));
}

void seal_retired(PoolView view, WriterThread& thread, RetiredLinks& links) {
  uint32_t next = thread.retired.exchange(0, std::memory_order_relaxed);
  while (next != 0) {
    pool::ChunkEntry& entry = view.entries[next - 1];
    next = links[next - 1].load(std::memory_order_relaxed);  // before another thread can have the chunk
    // All reservations that succeeded are complete, so the failed ones can be forgotten.
    entry.reserved.store(entry.committed.load(std::memory_order_relaxed), std::memory_order_relaxed);
    const uint32_t epoch = static_cast<uint32_t>(entry.state.load(std::memory_order_relaxed) >> 32);
    entry.state.store(pool::pack_state(epoch, pool::kSealed), std::memory_order_release);
  }
}

}  // namespace fathom::client
