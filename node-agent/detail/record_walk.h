// RecordWalk: reads the events of one chunk of a detail pool, from a copy, with their threads and spans.
//
// Purpose: the only code that knows a record's bytes. Events come in the order of their addresses, not of their ticks:
// a signal handler may run between the reading of the clock and the reservation. After a hole (a record that was
// reserved and never committed), the walk resumes at the next plausible header of this epoch: its kind is known, it
// ends within the chunk, its ticks fit the chunk. Thread safety: none. Ownership: until the next call; views point into
// the caller's copy, spans into the walk. Errors: none; skipped bytes are counted. Hostility: every size is checked; a
// walk takes at most one step per 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "client/pool/detail_layout.h"
#include "node-agent/detail/tracepoint_table.h"

namespace fathom::agent {

// A copy of a chunk, and fields of its entry.
struct ChunkView {
  std::string_view bytes;
  uint32_t epoch = 0;
  uint32_t owner_tid = 0;            // until a record names the thread
  uint64_t first_ticks = 0;          // records have 48 bits of ticks; this supplies the others
  uint64_t last_ticks = UINT64_MAX;  // no record is much later
  uint64_t asked_from_ticks = 0;     // the begin of the requested window
  // A record after a hole must also match its description here. Stale bytes often look like records: the epochs of two
  // laps may differ in one byte, and a later text may end in the middle of an older epoch.
  const TracepointTable* table = nullptr;
  // The spans of the first record, if the bytes do not begin where the chunk does.
  std::vector<pool::SpanRef> spans;
  bool spans_certain = true;
};

// What a walk knows before a record, beside the record's bytes.
struct WalkState {
  uint64_t ticks = 0;  // of the record before
  uint32_t tid = 0;
  bool spans_certain = true;
  std::vector<pool::SpanRef> spans;

  static WalkState at_begin_of(const ChunkView& view) {
    return {view.first_ticks, view.owner_tid, view.spans_certain, view.spans};
  }
  void apply_to(ChunkView& view) const {
    view.first_ticks = ticks;
    view.owner_tid = tid;
    view.spans_certain = spans_certain;
    view.spans = spans;
  }
};

struct DetailRecord {
  uint64_t ticks = 0;
  uint32_t kind = 0;  // a tracepoint's
  uint32_t tid = 0;
  bool long_form = false;
  // False: a hole lies between the last record about spans and this one, and may have held another record about spans.
  bool spans_certain = true;
  std::string_view payload;  // of a short record: with its padding
  std::span<const pool::SpanRef> spans;
};

// After the program has ended, a hole is a loss; while it runs, it may be a write that is under way. The bytes behind
// the last record are no hole: nothing was written there yet, or the rest was too short for the next record.
struct WalkCounts {
  uint64_t records = 0;  // of tracepoints
  uint64_t holes = 0;    // stretches without a record between two records
  uint64_t hole_bytes = 0;
  uint64_t unknown_records = 0;    // of a kind that a later version of the client writes
  uint64_t malformed_records = 0;  // records about spans or threads whose sizes do not add up
  uint64_t dropped_spans = 0;      // of sets of more than kMostSpans
};

class RecordWalk {
 public:
  static constexpr size_t kMostSpans = 64;

  explicit RecordWalk(const ChunkView& chunk)
      : chunk_(chunk),
        ticks_(chunk.first_ticks),
        tid_(chunk.owner_tid),
        spans_certain_(chunk.spans_certain),
        spans_(chunk.spans) {}

  bool next(DetailRecord& record);
  const WalkCounts& counts() const { return counts_; }
  size_t end() const { return end_; }  // the offset behind the last record so far
  WalkState state() const { return {ticks_, tid_, spans_certain_, spans_}; }  // there

 private:
  struct Head;
  bool find(Head& head);
  void count_hole();
  void take_spans(std::string_view payload, bool anew);
  void take_owner(std::string_view payload);
  void take_ours(const Head& head);

  ChunkView chunk_;
  uint64_t ticks_;  // of the last record that had any
  uint32_t tid_;
  bool spans_certain_;
  size_t at_ = 0;
  size_t end_ = 0;
  std::vector<pool::SpanRef> spans_;
  WalkCounts counts_;
};

// `first`, `second`: two copies of an open chunk, made in this order with an acquire fence between. A copy has no
// order: the bytes of a record that is committed meanwhile may be older than its epoch. So only records whose epoch is
// in the first copy count, with the bytes of the second; all other epochs in the second copy are erased. Returns the
// offset behind which there are no records.
size_t settle(std::string_view first, char* second, const ChunkView& chunk);

// The end of the bytes of the first copy that may hold records of the epoch. The second copy needs no more.
size_t bytes_with_epoch(std::string_view chunk, uint32_t epoch);

}  // namespace fathom::agent
