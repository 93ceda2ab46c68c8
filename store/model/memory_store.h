// MemoryStore: the definition of right. SpanStore by brute force over decoded rows in memory; nothing is durable.
//
// Purpose: every query is a transcription of the definitions in span_store.h over all rows, so that other engines can
// be compared with it, and programs can be tested without a disk. Where those definitions leave a choice, this is it:
//  - A span's clock offset is one of its fields; a trace's extent is taken in corrected time.
//  - Operations: per (namespace, service) as many as `operations_per_service` pairs of name and kind, that rows are
//    stored of, are operations; spans of others belong, for as long as they are stored, to the operation "__other__" of
//    unspecified kind, which does not count, and keep their own name and kind.
//  - Of equal rows the earliest reception stands: the row goes with that one's partition. What is equal to a row that
//  is
//    no longer stored is a new row.
//  - Root, and the earliest span: by corrected start, then span id, then reception, then the operation received first,
//    then the longer. Spans that are one row of slowest() show the first of them in this order, and an error of any.
//  - A trace's first reception is that of its first stored span; a page's rows otherwise say what is stored now.
//  - find(): newest start first, then the shorter, then trace id, then span id.
//  - operations() and latency() count every row of every accepted batch, equal rows too: once per batch identity. Steps
//    of latency() begin at multiples of the step. An empty range has no minutes.
//  - attribute_values(): most frequent first, then by value; here the counts are of spans in the range, each once.
//  - Pages of an oversized trace are in the order of reception, then start, then span id. Its number of spans is exact.
//  - A limit of 0 gives no rows and no next page.
//  - A batch without rows is acknowledged and is not counted.
//  - A partition is an hour of reception, by `now_unix_nano`; its rows and identities are dropped with it.
//
// Thread safety: one mutex around everything; `done` is called inline, outside the mutex. Ownership: rows hold their
// batch. Units and errors: as SpanStore.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/time.h"
#include "store/model/rows.h"
#include "store/span_store.h"

namespace fathom::store {

struct MemoryOptions {
  size_t operations_per_service = 1000;
  uint64_t trace_spans = 131'072;  // a trace with more is oversized
  std::function<uint64_t()> now_unix_nano = fathom::now_unix_nano;
};

class MemoryStore : public SpanStore {
 public:
  explicit MemoryStore(MemoryOptions options = {}) : options_(std::move(options)) {}

  void append(BatchPtr batch, std::function<void(AppendResult)> done) override;
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
  Result<> settle() override { return {}; }

 private:
  struct Partition {
    uint64_t oldest_received_unix_nano = 0;
    uint64_t newest_received_unix_nano = 0;
    std::map<Hash128, uint64_t> accepted;  // identity -> when
  };
  using Service = std::pair<std::string, std::string>;  // namespace, name
  using NamedKind = std::pair<std::string, SpanKind>;

  AppendResult accept(const BatchPtr& batch);
  bool is_duplicate(const Hash128& identity, uint64_t now) const;
  OperationKey operation_of(const StoredSpan& stored);
  void store_row(std::shared_ptr<model::Row> row);
  void forget_operations();
  void forget_traces();
  // Everything stored, after the budget has paid for reading it.
  Result<std::vector<model::RowPtr>> read_rows(QueryBudget& budget);
  Result<model::Traces> read_traces(QueryBudget& budget);
  uint64_t received_sequence();
  OperationKey operation_numbered(uint64_t number);
  std::vector<ServiceKey> services_named(const std::string& name);

  const MemoryOptions options_;
  std::mutex mutex_;
  uint64_t sequence_ = 0;
  std::vector<model::RowPtr> rows_;  // in order of reception
  std::map<uint64_t, Partition> partitions_;
  std::set<std::string_view> contents_;      // of the rows that are not repeated
  std::map<TraceId, uint64_t> trace_spans_;  // of each trace, without repeated rows
  std::set<TraceId> oversized_;
  std::map<Service, std::set<NamedKind>> operations_;
  std::map<OperationKey, uint64_t> operation_numbers_;  // in order of reception, of those that rows are stored of
  uint64_t next_operation_ = 0;
};

}  // namespace fathom::store
