// The writer's side of a span pool: how a thread gets a chunk, puts records into it, and gives it away.
//
// Purpose: put() is the whole fast path of a finished span: no lock, no wait, no system call, safe in a signal handler
// that interrupts another put() of the same thread at any instruction. docs/formats/span-pool.md has the state machine.
// Thread safety: a WriterThread belongs to one thread (and the signal handlers on it); pools are shared. Ownership:
// none, all memory is the caller's. Errors: put() returns false when the pool has no free chunk; the caller counts it.
//
// A chunk is sealed only when no put() of its thread is under way, because an interrupted one may already have chosen
// it: `writes` counts them, in the thread and not in the chunk, since an interrupted put() that has not counted itself
// yet could otherwise count in a chunk that has a new owner.
#pragma once

#include "client/platform.h"
#include "client/pool/layout.h"

namespace fathom::client {

// A pool in this process's memory. The geometry is ours: nothing that the other side could change is believed.
struct PoolView {
  pool::Header* header = nullptr;
  pool::ChunkEntry* entries = nullptr;
  char* chunks = nullptr;
  uint32_t chunk_count = 0;

  uint32_t number(const pool::ChunkEntry* entry) const { return static_cast<uint32_t>(entry - entries); }
  char* data(const pool::ChunkEntry* entry) const {
    return chunks + static_cast<size_t>(number(entry)) * pool::kChunkBytes;
  }
};

// What is retired and not sealed yet is a list through this: the number of the next chunk plus one, by chunk.
using RetiredLinks = std::atomic<uint16_t>[pool::kMostChunks];
static_assert(pool::kMostChunks < UINT16_MAX);

struct WriterThread {
  std::atomic<uint32_t> writes{0};                // put()s under way: more than one when signals nest
  std::atomic<uint32_t> retired{0};               // the first of the list, its number plus one
  std::atomic<pool::ChunkEntry*> entry{nullptr};  // of the chunk that this thread writes to
  uint32_t tid = 0;
  bool fresh = false;  // a chunk was claimed; whoever has slow work to do now and then does it then
  // Memory was refused: until then it is not asked for again, so that a loss costs no system call.
  uint64_t memory_again_nano = 0;
  bool starved = false;  // the last claim found nothing: look at a few chunks only, so that a loss stays cheap
};

// A free chunk, owned and empty; null when there is none. `hint` is where the next search begins, shared by the
// threads.
pool::ChunkEntry* claim_chunk(PoolView view, WriterThread& thread, std::atomic<uint32_t>& hint);
// The thread goes on without this chunk, which becomes sealed when no put() is under way.
void retire_chunk(PoolView view, WriterThread& thread, RetiredLinks& links, pool::ChunkEntry* entry);
// Seals what is retired; when no put() is under way only.
void seal_retired(PoolView view, WriterThread& thread, RetiredLinks& links);
// Gives a chunk that was claimed in vain back.
void unclaim_chunk(pool::ChunkEntry* entry);

struct NoProbe {
  void operator()() const {}
};

// A record of whole words, whose first word is filled in here, into the thread's chunk; false when it did not fit, and
// then the chunk is retired. Within `writes` only. `probe` is called wherever a signal could matter: for tests.
template <typename Probe = NoProbe>
FATHOM_INLINED bool put_into(const PoolView& view, pool::ChunkEntry* entry, const char* record, uint32_t bytes,
                             const Probe& probe = {}) {
  const uint32_t at = own_add(entry->reserved, bytes);
  if (unlikely(at + bytes > pool::kChunkBytes)) return false;
  probe();
  char* to = view.data(entry) + at;
  copy_words(to + 8, record + 8, bytes - 8);
  probe();
  const uint32_t epoch = static_cast<uint32_t>(entry->state.load(std::memory_order_relaxed) >> 32);
  std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(to))
      .store(pool::pack_record(epoch, pool::RecordType::kSpan, bytes / 8), std::memory_order_release);
  probe();
  own_add_only(entry->committed, bytes);
  return true;
}

// `see` puts the pool into a view, or says no when it is not the thread's any more: in the child of a fork in a signal
// handler. It is asked after the write was counted, because only then the memory stays, and after the entry was looked
// at.
template <typename See, typename Probe = NoProbe>
inline bool put(const See& see, WriterThread& thread, RetiredLinks& links, std::atomic<uint32_t>& hint,
                const char* record, uint32_t bytes, const Probe& probe = {}) {
  own_increment(thread.writes);
  PoolView view;
  bool done = false, ours = true;
  for (;;) {
    pool::ChunkEntry* entry = thread.entry.load(std::memory_order_relaxed);
    signal_fence();
    ours = see(view);
    if (unlikely(!ours)) break;
    probe();
    if (likely(entry != nullptr)) {
      done = put_into(view, entry, record, bytes, probe);
      if (likely(done)) break;
      retire_chunk(view, thread, links, entry);
      probe();
    }
    pool::ChunkEntry* claimed = claim_chunk(view, thread, hint);
    if (claimed == nullptr) break;
    probe();
    pool::ChunkEntry* none = nullptr;  // a signal handler may have brought one meanwhile
    if (!thread.entry.compare_exchange_strong(none, claimed, std::memory_order_relaxed)) unclaim_chunk(claimed);
  }
  probe();
  if (own_decrement(thread.writes)) {
    probe();
    if (unlikely(ours && thread.retired.load(std::memory_order_relaxed) != 0)) seal_retired(view, thread, links);
  }
  return done;
}

// The same for what nearly always is so, without a call on the way: the thread's chunk has room. When it returns false
// nothing was put, and put() has to. When something is retired then, which a signal in the middle of this did,
// seal_when_idle() has to be called.
template <typename See, typename Probe = NoProbe>
FATHOM_INLINED bool put_at_once(const See& see, WriterThread& thread, const char* record, uint32_t bytes,
                                const Probe& probe = {}) {
  own_increment(thread.writes);
  pool::ChunkEntry* entry = thread.entry.load(std::memory_order_relaxed);
  signal_fence();
  PoolView view;
  const bool ours = see(view);
  probe();
  const bool done = likely(ours) && likely(entry != nullptr) && put_into(view, entry, record, bytes, probe);
  probe();
  own_decrement(thread.writes);
  return done;
}
inline void seal_when_idle(PoolView view, WriterThread& thread, RetiredLinks& links) {
  if (thread.writes.load(std::memory_order_relaxed) == 0) seal_retired(view, thread, links);
}

}  // namespace fathom::client
