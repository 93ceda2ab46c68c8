// ChunkHolds: which chunks of a detail pool this reader keeps from being overwritten at the moment.
//
// Purpose: the rules of docs/formats/pool.md for sealed -> reading: a quarter of the chunks of a size at most, and
// ahead of the copying only every other one of a row, so that a claim, which looks at 16, finds one. Thread safety:
// none. Ownership: what is still held is given back by the destructor. Hostility: states change by compare-exchange
// from what was seen; what the program does to them meanwhile is noticed when a chunk is given back.
#pragma once

#include <cstdint>
#include <vector>

#include "node-agent/detail/detail_file.h"

namespace fathom::agent {

class ChunkHolds {
 public:
  // `reader`: of the header when this reader's connection began.
  ChunkHolds(DetailFile& file, uint32_t reader);
  ChunkHolds(const ChunkHolds&) = delete;
  ChunkHolds& operator=(const ChunkHolds&) = delete;
  ~ChunkHolds();

  bool holds(uint32_t chunk) const { return held_[chunk] != 0; }
  // Whether another one of its size may be held ahead.
  bool has_room(uint32_t chunk) { return ring_of(chunk).held < ring_of(chunk).most_ahead(); }
  // Ahead of its being copied, where the rules allow it.
  bool hold_ahead(uint32_t chunk, uint32_t epoch);
  // For as long as one copy takes, whoever its neighbours belong to. Both are false when the chunk is not sealed, or of
  // another epoch.
  bool hold_now(uint32_t chunk, uint32_t epoch);
  // Sealed again, or free. False: the chunk was taken from us meanwhile, and what was copied is void.
  bool give_back(uint32_t chunk, bool free);

 private:
  struct Ring {
    uint32_t first = 0;
    uint32_t chunks = 0;
    uint32_t held = 0;
    // One less than a quarter: the last one is for hold_now().
    uint32_t most_ahead() const { return chunks < 8 ? 0 : chunks / 4 - 1; }
    uint32_t neighbour(uint32_t chunk, uint32_t steps) const { return first + (chunk - first + steps) % chunks; }
  };
  Ring& ring_of(uint32_t chunk) { return rings_[file_.shape().is_small(chunk) ? 1 : 0]; }

  DetailFile& file_;
  const uint32_t reader_;
  Ring rings_[2];
  std::vector<uint32_t> held_;  // the epoch, by chunk; 0: not held
};

}  // namespace fathom::agent
