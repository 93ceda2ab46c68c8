// ChunkMarks: places in a detail pool's chunks where a later snapshot may begin to read.
//
// Purpose: a chunk of a quiet thread holds minutes of events, and a snapshot wants some milliseconds. Each snapshot
// walks the records behind the last mark once and adds marks; the next one skips the records before the latest mark
// that is older than its window. Thread safety: none. Ownership: plain values. Bounds: a mark per kEveryBytes of the
// chunks that were read. Errors: none. Hostility: a program that rewrites its records only spoils what is read of
// itself; a walk from a mark checks the same as one from a chunk's begin.
#pragma once

#include <cstdint>
#include <vector>

#include "node-agent/detail/record_walk.h"

namespace fathom::agent {

class ChunkMarks {
 public:
  static constexpr uint32_t kEveryBytes = 2048;

  struct Mark {
    uint32_t offset = 0;        // in the chunk; a record begins here, or will
    uint64_t latest_ticks = 0;  // no event before the mark is later
    WalkState state;
  };

  explicit ChunkMarks(uint32_t chunks) : chunks_(chunks) {}

  // The last mark before which there is no event from `from_ticks` on. Null: read the chunk from its begin.
  const Mark* find(uint32_t chunk, uint32_t epoch, uint64_t from_ticks) const;
  // Adds marks of a chunk that was read at `now_ticks`. `offset`: of the view's bytes in the chunk. There are no marks
  // behind a hole, because a record may still be written there.
  void extend(uint32_t chunk, const ChunkView& view, uint32_t offset, uint64_t now_ticks);

 private:
  struct Chunk {
    uint32_t epoch = 0;
    std::vector<Mark> marks;  // by offset, and so by ticks
  };
  std::vector<Chunk> chunks_;
};

}  // namespace fathom::agent
