// RecordWalk: the events in the copy of one chunk of a detail pool, with the thread and the spans that they belong to.
//
// Purpose: the only code that knows a record's bytes. Events come in the order of their addresses, which is not that of
// their ticks: a signal handler may reserve first what it stamps last. Behind a hole (a record that was reserved and
// never committed) the walk resumes at the next aligned header of this epoch that is likely one: its kind is known, it
// ends within the chunk, its ticks are of this chunk's time. Thread safety: none. Ownership: views point into the
// caller's copy, spans into the walk; both until the next call. Errors: none; what is passed over is counted.
// Hostility: every size is checked against what is there; a walk takes at most one step per 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "client/pool/detail_layout.h"
#include "node-agent/detail/tracepoint_table.h"

namespace fathom::agent {

// The copy of a chunk, and what its entry said.
struct ChunkView {
  std::string_view bytes;
  uint32_t epoch = 0;
  uint32_t owner_tid = 0;            // until a record says who
  uint64_t first_ticks = 0;          // records have 48 bits of ticks; these are the others
  uint64_t last_ticks = UINT64_MAX;  // no record is much younger
  uint64_t asked_from_ticks = 0;     // the begin of the window that the chunk was read for
  // What is behind a hole must fit its description, too. Stale bytes look like records more often than chance has it:
  // the epochs of two laps may differ in one byte, and a later text ends in the middle of an older epoch.
  const TracepointTable* table = nullptr;
};

struct DetailRecord {
  uint64_t ticks = 0;
  uint32_t kind = 0;  // a tracepoint's
  uint32_t tid = 0;
  bool long_form = false;
  // False: there is a hole between the last word about spans and this record, and another word may have been in it.
  bool spans_certain = true;
  std::string_view payload;  // of a short record with its padding
  std::span<const pool::SpanRef> spans;
};

// A hole is a loss when the program is gone; of a living one it may be a write that is under way. What lies behind the
// last record is none: nobody has written there yet, or it was too short for what was to come.
struct WalkCounts {
  uint64_t records = 0;  // of tracepoints
  uint64_t holes = 0;    // stretches without a record between two records
  uint64_t hole_bytes = 0;
  uint64_t unknown_records = 0;    // of a kind that a later version of the client writes
  uint64_t malformed_records = 0;  // words about spans or threads whose sizes do not add up
  uint64_t dropped_spans = 0;      // of sets of more than kMostSpans
};

class RecordWalk {
 public:
  static constexpr size_t kMostSpans = 64;

  explicit RecordWalk(const ChunkView& chunk) : chunk_(chunk), ticks_(chunk.first_ticks), tid_(chunk.owner_tid) {}

  bool next(DetailRecord& record);
  const WalkCounts& counts() const { return counts_; }
  size_t end() const { return end_; }  // of the last record so far

 private:
  struct Head;
  bool find(Head& head);
  void take_spans(std::string_view payload, bool anew);
  void take_owner(std::string_view payload);
  void take_ours(const Head& head);

  ChunkView chunk_;
  uint64_t ticks_;  // of the last record that had any
  uint32_t tid_;
  bool spans_certain_ = true;
  size_t at_ = 0;
  size_t end_ = 0;
  std::vector<pool::SpanRef> spans_;
  WalkCounts counts_;
};

// Two copies of an open chunk, with an acquire fence between. A copy has no order: the bytes of a record that was
// committed while it was copied may be older than its epoch. So a record counts when the first copy has its epoch, and
// then the second one has its bytes; in the second one the epochs of all others are wiped out. Returns an end behind
// which there are no records.
size_t settle(std::string_view first, char* second, const ChunkView& chunk);

// Up to where the first copy may have records of the epoch: the second one needs no more.
size_t bytes_with_epoch(std::string_view chunk, uint32_t epoch);

}  // namespace fathom::agent
