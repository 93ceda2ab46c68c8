// DetailSnapshot: what a detail pool held of a window of time, as copies; the raw form of a capture.
//
// Purpose: plain data between the reader of a pool and whoever decodes or ships it. Thread safety: plain values.
// Ownership: of all bytes. Losses travel with the data.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node-agent/detail/detail_file.h"
#include "node-agent/detail/record_walk.h"
#include "node-agent/detail/tracepoint_table.h"

namespace fathom::agent {

// Both ends included, in the pool's ticks.
struct TickWindow {
  uint64_t begin_ticks = 0;
  uint64_t end_ticks = UINT64_MAX;
  uint64_t now_ticks = UINT64_MAX;  // when the snapshot is asked for, if that is known: nothing is much younger
};

struct ChunkCopy {
  uint32_t number = 0;
  bool open = false;  // it was being written to, or its thread was killed
  ChunkView view;     // its bytes are the snapshot's
};

struct SnapshotLosses {
  uint64_t overwritten_chunks = 0;  // claimed anew before or while they were copied
  uint64_t over_budget_chunks = 0;  // older than what the budget allows
  uint64_t over_budget_bytes = 0;   // at most: of open chunks nobody knows what is in them
  uint64_t unreadable_chunks = 0;   // the system did not give their bytes, or their states changed without end
  DetailLossCounts writer{};        // by pool::DetailLoss, since the program began

  // Reason and number of all that are not zero.
  std::vector<std::pair<std::string, uint64_t>> list() const;
};

struct DetailSnapshot {
  DetailShape shape;
  TickWindow window;
  TracepointTable table;
  std::vector<ChunkCopy> chunks;  // open ones first, then from old to young
  SnapshotLosses losses;
  // Of the window's events, none that is younger is missing, but for what the program counts as lost itself and holes
  // in chunks. UINT64_MAX: nothing is sure.
  uint64_t missing_until_ticks = 0;
  std::unique_ptr<char[]> memory;

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const ChunkCopy& chunk : chunks) sum += chunk.view.bytes.size();
    return sum;
  }
};

}  // namespace fathom::agent
