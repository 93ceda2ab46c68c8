// PoolReader: takes finished spans out of one program's pool, in batches of which each can be sent again as it was.
//
// Purpose: the reader's half of docs/formats/span-pool.md. collect() gives what is new to a sink and remembers which
// ranges of which chunks that was; begin() writes these ranges into the pool as batch sequence(); acknowledge() gives
// the memory back. One batch is under way at a time. An agent that dies between any two steps leaves a pool from which
// its successor either sends the same ranges under the same sequence again (resumes() is true, and collect_again()
// comes before anything else) or goes on with the next. Thread safety: none; one reader per pool and process.
// Ownership: of the file. Errors: none; what is damaged is passed over and counted. Hostility: words of the pool are
// loaded once and checked; what this reader did is remembered in its own memory, and the pool's marks are believed only
// where they are all there is: after a restart.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "node-agent/pool/loss_marks.h"
#include "node-agent/pool/losses.h"
#include "node-agent/pool/pool_file.h"
#include "node-agent/pool/record.h"

namespace fathom::agent {

class SpanSink {
 public:
  virtual ~SpanSink() = default;
  // The view lives as long as the call. False: this record holds no span worth sending.
  virtual bool span(const SpanRecordView& span) = 0;
};

struct Collected {
  uint32_t spans = 0;
  uint64_t read_bytes = 0;
  bool full = false;   // there was no room for more: come again soon
  bool empty = false;  // all was looked at, and nothing was there that is not acknowledged
};

class PoolReader {
 public:
  // A batch holds fewer bytes of records than this; marks of more are none that an agent made.
  static constexpr uint64_t kMostBatchBytes = 2 << 20;

  // `instance`: this process's random number; written to the pool, so that another reader of it stops.
  // `step`, for tests: called before each change of the pool.
  PoolReader(PoolFile file, uint64_t instance, AgentLosses& losses, std::function<void()> step = {});

  // Whether nobody else has begun to read; nothing else may be called when not.
  bool is_ours() const { return file_.header().reader.load(std::memory_order_relaxed) == instance_; }
  bool under_way() const { return under_way_; }
  bool resumes() const { return resumes_; }
  uint64_t sequence() const { return sequence_; }  // of the batch under way, or of the last one
  const PoolFile& file() const { return file_; }

  // Up to about `most_bytes` of records, at least one chunk's. `ended`: the program is gone, so gaps are for ever.
  // Then, unless nothing was found: begin(). What held no spans is acknowledged at once.
  Collected collect(SpanSink& sink, uint64_t most_bytes, bool ended);
  void begin();
  // Of a batch that a predecessor began: the same ranges. begin() has been.
  Collected collect_again(SpanSink& sink);
  void acknowledge();

  // The program's resource, when it is new since the last call. `ended`: also one that is not complete.
  std::optional<std::string> new_resource(bool ended);
  using LossCounts = LossMarks::Counts;
  // Adds what the program lost since the last call; at first, what no predecessor marked as told. No more than a
  // program can lose in that time.
  void count_losses(uint64_t now_monotonic_nano);
  const LossCounts& counted_losses() const { return marks_.counted(); }
  // These are known beyond this host: marks them in the pool, and no successor counts them again.
  void mark_told(const LossCounts& told);
  bool all_losses_told() const { return marks_.all_told(); }

 private:
  // What is acknowledged of a chunk's epoch, by our own account.
  struct Cursor {
    uint32_t epoch = 0;
    uint32_t acknowledged = 0;
  };
  struct Range {
    uint32_t chunk;
    uint32_t epoch;
    uint32_t begin;
    uint32_t end;
    uint32_t tid;  // of the chunk's owner
  };
  // A chunk's words, loaded once.
  struct Look {
    uint32_t epoch = 0;
    uint32_t state = 0;
    uint32_t tid = 0;       // of the owner
    uint32_t limit = 0;     // records may lie below
    bool complete = false;  // and all below are finished
    bool overrun = false;   // more was reserved than the chunk holds
  };

  void resume();
  void find_marked();
  void clear_marks();
  void step() const {
    if (step_) step_();
  }
  Look look_at(uint32_t chunk) const;
  Cursor& cursor_of(uint32_t chunk, uint32_t epoch);
  void visit(uint32_t chunk, SpanSink& sink, bool ended, Collected& collected);
  uint32_t read_finished(const Range& range, const Look& look);
  void pass_on(const Range& range, bool last_gap_counts, SpanSink& sink, Collected& collected);
  void take_record(const Range& range, std::string_view record, uint8_t type, SpanSink& sink, Collected& collected);
  void own_marks(const Range& range);
  void apply();
  void free_if_done(uint32_t chunk);

  PoolFile file_;
  const uint64_t instance_;
  AgentLosses& losses_;
  const std::function<void()> step_;
  std::vector<Cursor> cursors_;
  std::vector<Range> ranges_;  // of the batch under way, or of the one being collected
  uint64_t sequence_ = 0;
  uint32_t next_chunk_ = 0;  // where the next collect() begins, so that all chunks get their turn
  uint64_t seen_resource_ = 0;
  LossMarks marks_;
  bool under_way_ = false;
  bool resumes_ = false;
};

}  // namespace fathom::agent
