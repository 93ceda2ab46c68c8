// PoolReader: reads finished spans from one program's pool, in batches that can each be sent again unchanged.
//
// Purpose: the reader's side of docs/formats/span-pool.md. collect() passes new spans to a sink and remembers their
// ranges of chunks; begin() writes these ranges into the pool as batch sequence(); acknowledge() frees the memory.
// One batch is under way at a time. If an agent dies between any two steps, its successor either sends the same
// ranges again under the same sequence (resumes() is true, and collect_again() comes before anything else), or
// continues with the next batch. Thread safety: none; one reader per pool and process. Ownership: of the file.
// Errors: none; damaged parts are skipped and counted. Hostility: words of the pool are loaded once and checked. This
// reader's progress is kept in its own memory; the pool's marks are trusted only after a restart, when nothing else
// is known.
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
  bool full = false;   // the batch had no room for more: read again soon
  bool empty = false;  // all chunks were read, and everything in them is acknowledged
};

class PoolReader {
 public:
  // A batch holds fewer bytes of records. No agent wrote marks of more.
  static constexpr uint64_t kMostBatchBytes = 2 << 20;

  // `instance`: this process's random number; written to the pool, so that any other reader stops. `step`, for tests:
  // called before each change of the pool.
  PoolReader(PoolFile file, uint64_t instance, AgentLosses& losses, std::function<void()> step = {});

  // False: another reader has begun to read the pool; then no other method may be called.
  bool is_ours() const { return file_.header().reader.load(std::memory_order_relaxed) == instance_; }
  bool under_way() const { return under_way_; }
  bool resumes() const { return resumes_; }
  uint64_t sequence() const { return sequence_; }  // of the batch under way, or of the last one
  const PoolFile& file() const { return file_; }

  // Whether this many bytes of records may be waiting.
  bool has_unread(uint64_t bytes);
  // Reads up to about `most_bytes` of records, at least those of one chunk. `ended`: the program is gone, so gaps
  // remain. begin() must follow if spans were found. Ranges without spans are acknowledged at once.
  Collected collect(SpanSink& sink, uint64_t most_bytes, bool ended);
  void begin();
  // Reads the ranges of a batch that a predecessor began; begin() was called then.
  Collected collect_again(SpanSink& sink);
  void acknowledge();

  // The program's resource if it changed since the last call. `ended`: an incomplete one is returned, too.
  std::optional<std::string> new_resource(bool ended);
  using LossCounts = LossMarks::Counts;
  // Adds the program's losses since the last call; at first, those that no predecessor marked as reported. Counts at
  // most what a program can lose in that time.
  void count_losses(uint64_t now_monotonic_nano);
  const LossCounts& counted_losses() const { return marks_.counted(); }
  // The collector knows these losses: marks them in the pool, so that no successor counts them again.
  void mark_told(const LossCounts& told);
  bool all_losses_told() const { return marks_.all_told(); }

 private:
  // How much of a chunk's epoch this reader has acknowledged.
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
