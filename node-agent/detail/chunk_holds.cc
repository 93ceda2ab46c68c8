#include "node-agent/detail/chunk_holds.h"

#include <cassert>
#include <utility>

namespace fathom::agent {

ChunkHolds::ChunkHolds(DetailFile& file, uint32_t reader)
    : file_(file),
      reader_(reader),
      rings_{{.first = 0, .chunks = file.shape().large_chunks},
             {.first = file.shape().large_chunks, .chunks = file.shape().small_chunks}},
      held_(file.shape().chunks()) {}

ChunkHolds::~ChunkHolds() {
  for (uint32_t chunk = 0; chunk < held_.size(); ++chunk) {
    if (holds(chunk)) give_back(chunk, false);
  }
}

bool ChunkHolds::hold_ahead(uint32_t chunk, uint32_t epoch) {
  Ring& ring = ring_of(chunk);
  if (!has_room(chunk)) return false;
  if (holds(ring.neighbour(chunk, 1)) || holds(ring.neighbour(chunk, ring.chunks - 1))) return false;
  return hold_now(chunk, epoch);
}

// What is said to be read already was left by a predecessor of ours, who is void: it is as good as sealed.
bool ChunkHolds::hold_now(uint32_t chunk, uint32_t epoch) {
  assert(!holds(chunk));
  std::atomic<uint64_t>& word = file_.entry(chunk).state;
  uint64_t state = word.load(std::memory_order_relaxed);
  pool::DetailState kind = pool::state_of(state);
  if (epoch == 0 || pool::epoch_of(state) != epoch) return false;
  if (kind != pool::kDetailSealed && kind != pool::kDetailReading) return false;
  // Acquire: what was written before the chunk was sealed is there.
  if (!word.compare_exchange_strong(state, pool::pack_detail(epoch, pool::kDetailReading, reader_),
                                    std::memory_order_acq_rel)) {
    return false;
  }
  held_[chunk] = epoch;
  ++ring_of(chunk).held;
  return true;
}

// Release: the copy is made before anybody else may write there.
bool ChunkHolds::give_back(uint32_t chunk, bool free) {
  uint32_t epoch = std::exchange(held_[chunk], 0);
  --ring_of(chunk).held;
  uint64_t reading = pool::pack_detail(epoch, pool::kDetailReading, reader_);
  return file_.entry(chunk).state.compare_exchange_strong(
      reading, pool::pack_detail(epoch, free ? pool::kDetailFree : pool::kDetailSealed), std::memory_order_acq_rel);
}

}  // namespace fathom::agent
