// ThreadMoves: whether a thread ran on another processor between two times, by the switch records.
//
// Purpose: streams of processors hold pieces of threads; who measures along a thread on one stream asks whether a piece
// of it lies on another. Thread safety: const after construction. Errors: none; without records, no.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

class ThreadMoves {
 public:
  explicit ThreadMoves(const Snapshot& snapshot);
  // Other than `cpu`, after `from_tsc` and not after `to_tsc`.
  bool elsewhere(int32_t tid, int32_t cpu, uint64_t from_tsc, uint64_t to_tsc) const;

 private:
  struct Arrival {
    uint64_t tsc;
    int32_t cpu;
  };
  std::unordered_map<int32_t, std::vector<Arrival>> arrivals_;  // by tsc
};

}  // namespace fathom::snapshot
