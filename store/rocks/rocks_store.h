// RocksStore: the embedded SpanStore. One process owns a data directory; everything in it is RocksDB's, but the
// contents of captures, which are files.
//
// Purpose: durable spans at a few microseconds of CPU each, and exact answers about the slowest of them in
// milliseconds. How: batches are made durable in a log of large values (the stage) and searched in memory; every
// `segment_spans` spans they are sealed into a segment: columns sorted by trace, a trace index, lists of the slowest
// per minute and operation, latency histograms, all written as sorted files and ingested at once.
// docs/formats/data-directory.md has the keys, docs/life-of-a-span.md the way. Source of the idea: LSM trees, and the
// floor below each list of the slowest is the threshold algorithm of Fagin, Lotem and Naor (PODS 2001). Thread safety:
// all of it. Errors: open() names the cure (directory in use, written by a newer version).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/settable.h"
#include "store/block/layout.h"
#include "store/capture_store.h"
#include "store/clock/age_clock.h"
#include "store/rocks/oversized_traces.h"
#include "store/span_store.h"

namespace rocksdb {
class Env;
}

namespace fathom::store {

class Scheduler;

enum class Durability { kFsync, kOs };

struct RocksOptions {
  std::string path;
  Durability durability = Durability::kFsync;
  size_t segment_spans = 131'072;
  size_t segment_bytes = 64 << 20;  // of encoded batches; whichever comes first
  uint64_t queue_bytes = 64 << 20;  // of batches that wait to become durable; more are refused as retryable
  size_t sealing_limit = 1;         // full generations that wait to be sealed; more are refused as retryable
  // The settable ones are what set_limits() changes.
  Settable<uint32_t> operations_per_service = 1000;
  Settable<uint32_t> services = 10'000;
  Settable<uint64_t> catalogue_bytes = 64 << 20;  // memory for names of operations and services
  // Of a segment; the rest are stored and searched, but not listed. The format has no room for more than this.
  Settable<uint32_t> listed_attribute_keys = block::kMaxListedKeys;
  uint64_t partition_nano = 3'600'000'000'000;
  uint64_t partition_bytes = 4ULL << 30;  // a partition ends early at this size, so that retention by size has steps
  Settable<uint64_t> retention_age_nano = 0;          // 0: no limit
  Settable<uint64_t> retention_bytes = 0;             // 0: no limit
  Settable<uint64_t> reserve_disk_bytes = 256 << 20;  // writes are refused as retryable below this much free space, or
                                                      // a part of the disk (store/disk_reserve.h); captures below
                                                      // twice as much
  Settable<uint64_t> capture_bytes = 10ULL << 30;     // for all captures, beyond which the oldest go; 0: no limit
  uint64_t capture_most_bytes = 64ULL << 20;          // of one capture
  uint64_t capture_idle_nano = 60'000'000'000;        // uploads end when nothing came for so long
  uint32_t capture_writers = 64;                      // uploads at the same time; more are refused as retryable
  OversizedLimits oversized;                          // a trace that passed them stays oversized when they are raised
  uint64_t cache_bytes = 48 << 20;  // for blocks; as much for directories of segments, a quarter for resources
  size_t corrections_in_memory =
      50'000;  // traces that lost spans to retention; about 7 MB. The rest are read when needed
  uint64_t maintenance_interval_nano = 10'000'000'000;
  uint64_t upgrade_commit_nano = 24 * 3'600'000'000'000;  // an upgrade can be reverted for so long of running
  rocksdb::Env* env = nullptr;                            // not owned; null: the real file system
  ReadClocks read_clocks = store::read_clocks;            // tests replace the host's clocks
  Scheduler* scheduler = nullptr;                         // not owned; null: threads of the system
  // Called when only opening the store again can help (a disk's hard fault, after there is room again). What was
  // acknowledged is durable, so a program may simply end and be started again. kCorrupt: RocksDB met damage, and would
  // meet it again.
  std::function<void(const Error& why)> on_unrecoverable;
};

class RocksStore : public SpanStore {
 public:
  static Result<std::unique_ptr<RocksStore>> open(RocksOptions options);
  // Answers what waits, then closes; unsealed rows stay in the stage and are read again at the next open.
  ~RocksStore() override;

  void append(BatchPtr batch, std::function<void(AppendResult)> done) override;
  void append_here(BatchPtr batch, std::function<void(AppendResult)> done,
                   const std::function<void()>& meanwhile) override;
  Result<SlowPage> slowest(const Filter& filter, By by, size_t limit, const std::optional<Cursor>& cursor,
                           QueryBudget& budget) override;
  Result<std::vector<SlowRow>> find(const Filter& filter, By by, size_t limit, QueryBudget& budget) override;
  Result<StoredTrace> trace_page(const TraceId& trace_id, const std::optional<TraceCursor>& after, size_t limit,
                                 QueryBudget& budget) override;
  Result<std::vector<TraceId>> trace_ids(const TraceIdRange& range, size_t most, QueryBudget& budget) override;
  Result<std::vector<OperationStats>> operations(const TimeRange& range, const std::optional<std::string>& service,
                                                 QueryBudget& budget) override;
  Result<std::vector<std::string>> attribute_keys(const TimeRange& range, QueryBudget& budget) override;
  Result<std::vector<ValueCount>> attribute_values(const TimeRange& range, const std::string& key,
                                                   const std::string& containing, size_t limit,
                                                   QueryBudget& budget) override;
  Result<std::vector<LatencyPoint>> latency(const TimeRange& range, const std::optional<std::string>& service,
                                            const std::optional<std::string>& operation, uint64_t step_nano,
                                            QueryBudget& budget) override;
  Result<std::optional<uint64_t>> first_start(const TimeRange& range, QueryBudget& budget) override;
  Result<> visit_times(const Filter& filter, const VisitTimes& visit, QueryBudget& budget) override;
  Result<uint64_t> spans_at_most(const TimeRange& range, QueryBudget& budget) override;
  Result<SampleCount> sample(const Filter& filter, const SampleLimits& limits, const VisitSpan& visit,
                             QueryBudget& budget) override;
  Result<CallSample> calls(const TimeRange& range, uint64_t most_spans, QueryBudget& budget) override;
  Result<> drop_before(uint64_t received_unix_nano) override;
  StoreStats stats() override;
  std::vector<Loss> losses() override;
  Result<> settle() override;
  // Takes the settable members of `options`. What is kept beyond them goes within maintenance_interval_nano; names that
  // are known stay known, and segments that are sealed as they are.
  void set_limits(const RocksOptions& options);
  // Lives as long as the store.
  CaptureStore& captures();
  // By which everything in the data directory ages.
  std::shared_ptr<AgeClock> clock() const;

 private:
  struct Impl;
  explicit RocksStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fathom::store
