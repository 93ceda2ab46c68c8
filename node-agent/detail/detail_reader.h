// DetailReader: copies of what one program's detail pool holds of a window of time.
//
// Purpose: the reader's half of docs/formats/pool.md. Sealed chunks are kept from being overwritten while they are
// copied (chunk_holds.h); open ones are read like a sequence lock, twice (settle() in record_walk.h). A snapshot has
// every chunk whose time overlaps the window, from the youngest on, until the budget is spent. It leaves out the
// records of a chunk that earlier snapshots found to be older than the window (chunk_marks.h). In discard mode, chunks
// that were read are free afterwards. Thread safety: begin_connection() from any thread, at any time; else none; one
// reader per pool. Ownership: of the file; it holds chunks only during a call. Errors: none; unread chunks are
// counted in the snapshot. Hostility: a snapshot takes one look at each chunk and at most kMostTries attempts to copy
// it, and has at most the budget's bytes.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "node-agent/detail/chunk_holds.h"
#include "node-agent/detail/chunk_marks.h"
#include "node-agent/detail/detail_snapshot.h"

namespace fathom::agent {

class DetailReader {
 public:
  static constexpr int kMostTries = 4;

  // When the connection to the program begins, or when the program is known to be gone. `step`, for tests: called
  // before each look at the pool and each change of it.
  explicit DetailReader(DetailFile file, std::function<void()> step = {});

  DetailSnapshot snapshot(const TickWindow& window, uint64_t budget_bytes);
  const DetailFile& file() const { return file_; }
  // The program has another connection: what was held on its last one is void, and so is this reader's number.
  void begin_connection();

 private:
  struct Candidate {
    uint32_t number;
    uint32_t epoch;
    uint32_t bytes;  // no more are copied
    uint64_t first_ticks;
    uint64_t last_ticks;  // UINT64_MAX: open
  };
  class Copying;

  void step() const {
    if (step_) step_();
  }
  std::vector<Candidate> choose(const TickWindow& window) const;
  bool look_at(uint32_t chunk, const TickWindow& window, Candidate& candidate) const;
  TracepointTable read_table() const;

  DetailFile file_;
  ChunkMarks marks_;
  // A snapshot goes on with the number that it began with: what it held on a connection that ended is void, and it
  // notices when it gives it back.
  std::atomic<uint32_t> reader_;
  const std::function<void()> step_;
};

}  // namespace fathom::agent
