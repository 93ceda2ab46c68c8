// SpanStore: what fathom asks of a place that keeps spans. RocksDB is behind it (store/rocks), and a brute-force model
// (store/model) that says what every answer must be; one contract test suite runs on both.
//
// Definitions (DESIGN's, exact):
//  - Trace duration: latest end minus earliest start over all stored spans of the trace; a trace's start is its
//  earliest
//    start. `complete`: no stored span names a parent that is not stored. Root: the earliest span without a parent.
//  - A span belongs to a range by its start, a trace by its earliest start; ranges are [from, to). Indexes use
//  corrected
//    time: sent + clock offset.
//  - A trace becomes oversized when more spans of it are stored than the store's limit (131,072), and stays so for as
//    long as a span of it is stored. From then on, in the order of reception, its rows no longer collapse and none is
//    flagged. Its duration, root and error are exact; `complete` is false, because it is not known; its number of spans
//    is an upper bound; trace() returns a page; calls() counts its spans and none of its calls. A store may also treat
//    a trace as oversized whose spans it had to scatter over too many places, or would have to read again too often.
//  - Rows equal in every field collapse into one; equal ids with other content are both kept, and flagged.
//  - service, operation, where and errors must hold on one span; a trace matches if any of its spans does.
//  - `where` looks at the span's attributes and its resource's (condition.h).
//  - Order of slowest(): duration descending, then start, trace id, span id ascending. Spans equal in all four are one
//  row.
//
// Thread safety: every method from any thread. Units: in names. Errors: kUnavailable may be tried again, kInvalid not.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/batch.h"
#include "store/condition.h"
#include "store/histogram.h"
#include "store/query_budget.h"
#include "store/scan.h"
#include "store/span.h"

namespace fathom::store {

// Corrected Unix nanoseconds, [from, to).
struct TimeRange {
  uint64_t from_unix_nano = 0;
  uint64_t to_unix_nano = UINT64_MAX;
  bool contains(uint64_t at) const { return at >= from_unix_nano && at < to_unix_nano; }
};

struct Filter {
  TimeRange range;
  std::optional<std::string> service;
  std::optional<std::string> operation;
  std::vector<Condition> where;
  bool errors = false;
  uint64_t min_duration_nano = 0;  // inclusive, of what `By` names
  uint64_t max_duration_nano = UINT64_MAX;
  // Of these traces alone. slowest() and find() look each of them up, and nothing else; other questions do not ask.
  std::optional<std::vector<TraceId>> traces = std::nullopt;

  bool has_span_conditions() const { return service || operation || !where.empty() || errors; }
};

// What a row is. kSpanOfTrace: of each trace the first of its spans that match, in the order of the answer.
enum class By { kTrace, kSpan, kSpanOfTrace };

struct SortKey {
  uint64_t duration_nano = 0;
  uint64_t start_unix_nano = 0;
  TraceId trace_id;
  SpanId span_id;  // zero for traces
  bool operator==(const SortKey&) const = default;
};

// The order of slowest(): true when `a` comes before `b`.
bool slower(const SortKey& a, const SortKey& b);

// Whether `part` is in `text`, whatever the case of the Latin letters A to Z.
bool contains_folded(std::string_view text, std::string_view part);

// Where a page ended, and the moment of reception that all pages tell of: what came after `received_sequence` does not
// exist for them. Pages therefore neither repeat nor skip what was there when the first one was read, and a trace that
// grows meanwhile is shown as it was then. Only what retention drops is missing from later pages.
struct Cursor {
  uint64_t received_sequence = 0;
  SortKey last;
};

struct SlowRow {
  TraceId trace_id;
  SpanId span_id;                // by trace: the root's, or the earliest span's while no root is stored
  std::string service;           // of that span
  std::string operation;         // of that span
  uint64_t start_unix_nano = 0;  // corrected
  uint64_t duration_nano = 0;
  uint64_t root_duration_nano = 0;  // 0 while no root is stored
  bool complete = false;
  bool error = false;      // by trace: any span's status is an error; by span: this one's
  bool oversized = false;  // of the trace
  uint64_t spans = 0;      // of the trace; of an oversized one an upper bound
};

struct SlowPage {
  std::vector<SlowRow> rows;
  std::optional<Cursor> next;  // nothing when this was the last page
};

// Both included: what ids that begin alike have between them.
struct TraceIdRange {
  TraceId first;
  TraceId last;
  bool contains(const TraceId& id) const { return id >= first && id <= last; }
};

// Where a page of a trace ended. All pages tell of one moment of reception, as those of slowest() do. A
// store that was opened again may keep other spans together than before: it rejects the cursors that this concerns.
struct TraceCursor {
  uint64_t received_sequence = 0;
  uint64_t first_sequence = 0;   // of the spans that the store keeps together with the last one of the page
  uint64_t last_sequence = 0;    // of the same, at most `received_sequence`
  uint64_t start_unix_nano = 0;  // of the last span of the page, corrected
  SpanId span_id;
  uint64_t sequence = 0;
};

inline constexpr size_t kTracePageSpans = 1000;

// A whole trace, or a page of one; owns what its spans' views point into.
struct StoredTrace {
  TraceId trace_id;
  uint64_t start_unix_nano = 0;  // corrected
  uint64_t duration_nano = 0;
  bool complete = false;
  std::vector<StoredSpan> spans;  // by corrected start, then span id; pages: see trace_page()
  std::vector<std::shared_ptr<const void>> owners;
  bool oversized = false;
  uint64_t spans_at_most = 0;       // of the whole trace; exact unless it is oversized
  std::optional<TraceCursor> next;  // of a page: where the next one begins
};

struct OperationKey {
  std::string service_namespace;
  std::string service;
  std::string operation;
  SpanKind kind = SpanKind::kUnspecified;
  auto operator<=>(const OperationKey&) const = default;
};

struct OperationStats {
  OperationKey key;
  uint64_t spans = 0;
  uint64_t errors = 0;
  Histogram durations;
};

struct LatencyPoint {
  uint64_t start_unix_nano = 0;
  uint64_t errors = 0;
  Histogram durations;
};

struct ValueCount {
  std::string value;
  uint64_t spans = 0;
};

struct StoreStats {
  uint64_t received_sequence = 0;  // of the newest durable batch
  uint64_t spans_unsealed = 0;
  uint64_t segments = 0;
  uint64_t spans_stored = 0;
  uint64_t oldest_received_unix_nano = 0;  // of what is stored; 0 when nothing is
  uint64_t disk_bytes = 0;
  uint64_t memory_bytes = 0;  // of unsealed rows
  bool writable = true;
};

// Acknowledged batches, received within this time, that damage to the disk may have destroyed. The first time is never
// greater than the last. While the wall clock is in doubt, the range is wider.
struct Loss {
  uint64_t first_received_unix_nano = 0;
  uint64_t last_received_unix_nano = 0;
  uint64_t found_unix_nano = 0;
  uint64_t bytes = 0;  // unreadable part of the log
  // Upper bound. Nothing: unknown, because the damage reaches to the end of the log.
  std::optional<uint64_t> most_batches;
  // When the lost spans may have started, inclusive: at least from ten minutes before the first reception to the last
  // one. A store widens this to the starts of the stored spans that it received near the loss.
  uint64_t earliest_start_unix_nano = 0;
  uint64_t latest_start_unix_nano = 0;
};

enum class AppendOutcome { kDurable, kRetryable, kRejected };
struct AppendResult {
  AppendOutcome outcome = AppendOutcome::kDurable;
  std::string message;
  bool duplicate = false;  // the identity was known: nothing was stored again
};

class SpanStore {
 public:
  virtual ~SpanStore() = default;

  // Takes a batch to be made durable. `done` is called exactly once, from a thread of the store's, when the batch is
  // durable *and* every later query sees it, or refused; it must not block. Idempotent by the batch's identity for an
  // hour.
  virtual void append(BatchPtr batch, std::function<void(AppendResult)> done) = 0;
  // The same, but it may block for a sync of the disk and call `done` from the caller's thread. A single batch is
  // durable sooner this way. Calls `meanwhile` once before it returns, during the sync if there is one.
  virtual void append_here(BatchPtr batch, std::function<void(AppendResult)> done,
                           const std::function<void()>& meanwhile) {
    append(std::move(batch), std::move(done));
    meanwhile();
  }

  virtual Result<SlowPage> slowest(const Filter& filter, By by, size_t limit, const std::optional<Cursor>& cursor,
                                   QueryBudget& budget) = 0;
  // Matching traces or spans, newest start first.
  virtual Result<std::vector<SlowRow>> find(const Filter& filter, By by, size_t limit, QueryBudget& budget) = 0;
  // kNotFound when no span of it is stored. Of an oversized trace: its first kTracePageSpans spans.
  Result<StoredTrace> trace(const TraceId& trace_id, QueryBudget& budget) {
    return trace_page(trace_id, std::nullopt, kTracePageSpans, budget);
  }
  // Of an oversized trace the first `limit` spans behind `after`, in an order of the store's that follows reception
  // roughly; a few more where several are alike in start, id and reception. The last page may be empty. Any other trace
  // whole, unless `after` is given: a cursor before all spans, with the sequence of stats(), begins with the first
  // page. kInvalid when the store cannot go on behind `after`: read from the first page.
  virtual Result<StoredTrace> trace_page(const TraceId& trace_id, const std::optional<TraceCursor>& after, size_t limit,
                                         QueryBudget& budget) = 0;
  // Which traces of these are stored, ascending; the first `most` of them. A seek for what is sealed, a look at every
  // trace that is not.
  virtual Result<std::vector<TraceId>> trace_ids(const TraceIdRange& range, size_t most, QueryBudget& budget) = 0;
  // Spans by start; the range is widened to whole minutes. `service` limits to one service.
  virtual Result<std::vector<OperationStats>> operations(const TimeRange& range,
                                                         const std::optional<std::string>& service,
                                                         QueryBudget& budget) = 0;
  virtual Result<std::vector<std::string>> attribute_keys(const TimeRange& range, QueryBudget& budget) = 0;
  // Most frequent first. Span attributes and resource attributes; counts are of spans in blocks that touch the range.
  // Only values that contains_folded() finds `containing` in.
  virtual Result<std::vector<ValueCount>> attribute_values(const TimeRange& range, const std::string& key,
                                                           const std::string& containing, size_t limit,
                                                           QueryBudget& budget) = 0;
  // Spans by start, per `step_nano` (a whole number of minutes), the range widened to whole minutes; empty steps are
  // left out. Filters by service and operation only.
  virtual Result<std::vector<LatencyPoint>> latency(const TimeRange& range, const std::optional<std::string>& service,
                                                    const std::optional<std::string>& operation, uint64_t step_nano,
                                                    QueryBudget& budget) = 0;

  // The earliest start of a span in the range; nothing where there is none.
  virtual Result<std::optional<uint64_t>> first_start(const TimeRange& range, QueryBudget& budget) = 0;

  // What scan.h shows of spans, by start and own duration, in no order; `filter.range` to the nanosecond.
  virtual Result<> visit_times(const Filter& filter, const VisitTimes& visit, QueryBudget& budget) = 0;
  // An upper bound of how many spans visit_times() would have to look at; costs next to nothing.
  virtual Result<uint64_t> spans_at_most(const TimeRange& range, QueryBudget& budget) = 0;
  virtual Result<SampleCount> sample(const Filter& filter, const SampleLimits& limits, const VisitSpan& visit,
                                     QueryBudget& budget) = 0;
  // Calls between services by spans that start in the range, from about `most_spans` of these.
  virtual Result<CallSample> calls(const TimeRange& range, uint64_t most_spans, QueryBudget& budget) = 0;

  // Drops whole partitions whose newest reception is before `received_unix_nano`, by the store's own clock of ages.
  virtual Result<> drop_before(uint64_t received_unix_nano) = 0;
  virtual StoreStats stats() = 0;
  // All known losses of spans, in no order. Reads no files.
  virtual std::vector<Loss> losses() { return {}; }
  // Waits until everything received is sealed, and maintenance is idle; for benchmarks, tests and shutdown.
  virtual Result<> settle() = 0;
};

}  // namespace fathom::store
