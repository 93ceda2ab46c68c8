// This process, as the client library sees it: its pool, what of it is known to be wiped by a fork, its losses.
//
// Purpose: everything that a thread needs besides its own state. `Live` lies in a page that the kernel empties in the
// child of a fork (MADV_WIPEONFORK), so that one comparison per span notices the new process, however it was made;
// where the kernel cannot, the fork handler empties it. Thread safety: any thread, any signal handler. Errors: a pool
// that cannot be made is tried again a second later; until then spans are lost and counted.
#pragma once

#include "client/chunks.h"
#include "client/detail/recorder.h"
#include "client/pool_memory.h"
#include "client/slabs.h"

namespace fathom::client {

inline constexpr uint32_t kNoGeneration = 0;

// All zero: a process that has not traced yet.
struct Live {
  // Read by every span, written once.
  alignas(64) std::atomic<uint32_t> generation;  // random: what tells this process's spans from its parent's
  std::atomic<char*> pool;                       // begin of the file's mapping
  // The rest changes on slow paths only.
  alignas(64) std::atomic<uint32_t> hint;
  std::atomic<uint64_t> pool_again_nano;
  std::atomic<uint32_t> helper;  // see helper.h
  std::atomic<uint64_t> helper_again_nano;
  std::atomic<int> pool_fd_plus_one;
  std::atomic<uint32_t> publishing;  // the process context is being written
  std::atomic<void*> process_context;
  std::atomic<uint64_t> losses[pool::kLosses];  // those from before there was a pool
  std::atomic<uint32_t> slot_hint;              // where the next search for a thread's slot begins
  std::atomic<uint32_t> slots_present;          // their memory is there
  SlabSet slabs;
  detail::LiveRecorder recorder;
};
static_assert(sizeof(Live) <= pool::kPageBytes);

struct Settings {
  uint32_t chunk_count = pool::kDefaultChunks;
  uint32_t thread_slots = pool::kDefaultThreadSlots;
  size_t chunks_offset = 0;  // in a pool of so many
  uint32_t detail_mib = 32;  // of the detail pool; 0: none
  bool discard = false;      // it keeps the oldest events, and not the latest
  bool tsc = false;          // ticks: of the processor, else CLOCK_MONOTONIC
  bool ptwrite = false;      // the processor has the instruction
  bool marks_spans = false;  // from the beginning (pool::kProgramWantsMarks)
  const char* socket_paths[3] = {};
};

extern Live* live_page;
extern Settings settings;
extern RetiredLinks retired_links;

inline Live& live() {
  return *live_page;
}
inline uint64_t ticks() {
#if defined(__x86_64__)
  if (likely(settings.tsc)) return __rdtsc();
#endif
  return monotonic_nano();
}

// In numbers: a thread that could not have a pool has a view of nothing, which is cheaper than to ask each time, and
// which nobody looks at, because it has no chunk.
inline PoolView view_of(char* pool) {
  const auto base = reinterpret_cast<uintptr_t>(pool);
  // NOLINTBEGIN(performance-no-int-to-ptr): see above
  return {reinterpret_cast<pool::Header*>(base), reinterpret_cast<pool::ChunkEntry*>(base + pool::kPageBytes),
          reinterpret_cast<char*>(base + settings.chunks_offset), settings.chunk_count};
  // NOLINTEND(performance-no-int-to-ptr)
}
inline PoolGeometry pool_geometry() {
  return geometry(settings.chunk_count, settings.thread_slots);
}
// The process's pool, made now when it is not there; null when it cannot be had.
char* ensure_pool();
// This process's number, chosen now when there is none.
uint32_t ensure_generation();
// From the kernel, or from what else differs between processes where the kernel will not give.
void random_bytes(void* out, size_t size);

void count_loss(pool::Loss loss, uint64_t count = 1);
// What was counted while the pool was just being made, to the pool.
void settle_losses();
uint64_t lost_spans();
bool flush(uint64_t timeout_nano);

}  // namespace fathom::client
