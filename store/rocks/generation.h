// Generation: rows that are durable but not yet sealed, in memory, searchable.
//
// Purpose: the newest spans are answered from here the moment they are acknowledged. One generation takes rows; when it
// is full it is frozen and sealed into a segment, and the next one takes over. A trace's extent here is cumulative: it
// includes what earlier generations and segments hold of it (`grown`), looked up once when its first row arrives.
// Thread safety: insert() by one thread at a time; reading under read(), by any number. A frozen generation no longer
// changes and read() costs nothing. Ownership: it shares the batches that its rows point into.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.h"
#include "store/batch.h"
#include "store/rocks/large_trace.h"
#include "store/rocks/trace_bounds.h"
#include "store/rocks/trace_rows.h"
#include "store/rocks/writer_first_mutex.h"

namespace fathom::store {

// What is known of a trace from before: the bounds of its stored spans.
struct TraceExtent {
  uint64_t start_unix_nano = 0;
  uint64_t end_unix_nano = 0;
  uint64_t first_sequence = 0;
  uint32_t oldest_partition = 0;  // that holds any of them; 0: not known
  bool oversized = false;
  bool lookup_failed = false;  // there may be other older spans

  static TraceExtent unknown() { return {UINT64_MAX, 0, UINT64_MAX, 0, false, true}; }
};
using FindOlderTrace = std::function<std::optional<TraceExtent>(const TraceId&)>;
using OlderTraces = boost::unordered_flat_map<TraceId, std::optional<TraceExtent>, IdHash>;

class Generation {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Row {
    uint64_t start_unix_nano;  // corrected
    uint64_t duration_nano;
    uint32_t source;  // index into sources()
    uint32_t index;   // of the row in its batch
    uint32_t trace;
    uint32_t next;  // the trace's next row, or kNone
    uint32_t operation;
    bool error;
  };
  struct Trace {
    TraceId id;
    uint64_t start_unix_nano;
    uint64_t end_unix_nano;
    uint64_t first_sequence;
    uint32_t first_row;
    uint32_t last_row;
    uint32_t row_count;
    bool grown;
    uint32_t oldest_partition;  // of the older spans, if it has grown
    bool oversized;             // it was so before its first row came here
    bool lookup_failed;         // its start and end do not cover all older rows
    TraceBounds older;          // of the older spans, if it has grown

    TraceBounds bounds() const { return {start_unix_nano, end_unix_nano, first_sequence}; }
  };
  struct Source {
    BatchPtr batch;
    uint64_t sequence;
    uint64_t received_unix_nano;
  };

  Generation(uint32_t partition, size_t expected_rows);

  // Adds what is known from before of the batch's traces that are new here. It may read files, so readers need not wait
  // for it. Nobody inserts meanwhile.
  void look_up_new_traces(const Batch& batch, const FindOlderTrace& find_older, OlderTraces& older) const;
  // `operations` has the catalogue's number for each row of the batch; `older` has at least the batch's new traces.
  void insert(BatchPtr batch, uint64_t sequence, uint64_t received_unix_nano, std::span<const uint32_t> operations,
              const OlderTraces& older);
  // Whether a trace's extent includes spans of partitions before `oldest`.
  bool is_outdated(uint32_t oldest) const;
  // A copy in another partition, without the spans of partitions before `oldest` in the traces' extents. Nobody inserts
  // meanwhile.
  std::shared_ptr<Generation> revised(uint32_t partition, uint32_t oldest, const FindOlderTrace& find_older) const;
  void freeze() { frozen_.store(true, std::memory_order_release); }

  // Holds the rows still while the caller reads them.
  std::shared_lock<WriterFirstMutex> read() const;

  uint32_t partition() const { return partition_; }
  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<Trace>& traces() const { return traces_; }
  const std::vector<Source>& sources() const { return sources_; }
  const Trace* find(const TraceId& id) const;

  const Batch& batch(const Row& row) const { return *sources_[row.source].batch; }
  const Batch::Row& stored(const Row& row) const { return batch(row).rows()[row.index]; }
  uint64_t sequence(const Row& row) const { return sources_[row.source].sequence; }
  uint64_t last_sequence(const Trace& trace) const { return sequence(rows_[trace.last_row]); }
  // Of the trace as it was when this had been received; nothing if none of its rows here had.
  std::optional<TraceBounds> bounds(const Trace& trace, uint64_t last_sequence) const;
  // Of the trace's rows here that were received up to `last_sequence`.
  TraceTally tally(const Trace& trace, uint64_t last_sequence) const;
  // Null: the trace has few rows here, or some that were received after `last_sequence`.
  const LargeTrace* large(const Trace& trace, uint64_t last_sequence) const;
  TraceRow trace_row(const Row& row) const;
  // Traces whose start and end do not cover all older rows.
  const std::vector<TraceId>& failed_lookups() const { return failed_lookups_; }
  // Calls `visit(row, row number)` for each row of a trace.
  template <typename Visit>
  void for_each_row(const Trace& trace, Visit visit) const {
    for (uint32_t at = trace.first_row; at != kNone; at = rows_[at].next) visit(rows_[at], at);
  }

  size_t row_count() const { return row_count_.load(std::memory_order_acquire); }
  size_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }
  size_t encoded_bytes() const { return encoded_bytes_.load(std::memory_order_relaxed); }
  // Bounds over rows and (cumulative) traces, without oversized ones; for a generation without rows nothing is between
  // them.
  uint64_t min_start_unix_nano() const { return min_start_; }
  uint64_t max_start_unix_nano() const { return max_start_; }

 private:
  uint32_t trace_for(const TraceId& id, uint64_t start, uint64_t end, uint64_t sequence, const OlderTraces& older);
  uint32_t number_of(const Trace& trace) const { return static_cast<uint32_t>(&trace - traces_.data()); }
  void link(uint32_t trace, uint32_t row);
  void revise(uint32_t trace, const std::optional<TraceExtent>& older);
  void update_large_traces(size_t first_row);

  const uint32_t partition_;
  mutable WriterFirstMutex mutex_;
  std::atomic<bool> frozen_{false};
  std::vector<Row> rows_;
  std::vector<Trace> traces_;
  std::vector<Source> sources_;
  boost::unordered_flat_map<TraceId, uint32_t, IdHash> trace_index_;
  std::atomic<size_t> row_count_{0};
  std::atomic<size_t> memory_bytes_{0};
  std::atomic<size_t> encoded_bytes_{0};
  boost::unordered_flat_map<uint32_t, LargeTrace> large_;  // of oversized traces and of those with many rows here
  std::vector<TraceId> failed_lookups_;
  uint64_t min_start_ = UINT64_MAX;
  uint64_t max_start_ = 0;
};

}  // namespace fathom::store
