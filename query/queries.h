// The questions that the query face answers, as plain values, and their answers: what HTTP and gRPC have in common.
//
// Purpose: a face turns its request into one of these, and the answer into its own words. Thread safety: the functions
// may run on any thread, several at once. Units: in names. Errors: as the store's; kInvalid for a cursor that is not
// this query's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/stores.h"
#include "store/span_store.h"

namespace fathom::query {

inline constexpr size_t kDefaultRows = 20;
inline constexpr size_t kMaxRows = 1000;
inline constexpr size_t kDefaultValues = 100;
inline constexpr size_t kMaxValues = 1000;
inline constexpr uint64_t kMaxLatencyPoints = 10'000;

struct AskedRange {
  store::TimeRange range;
  std::string text;  // as it was asked for: "the last hour" stays the same question while its bounds move
};

// Of whose trace something was kept, a capture or a snapshot, for whoever wants to look further than at spans.
enum class Kept { kNoMatter, kCaptured, kRecorded, kAny };
// Nothing for a word that names none.
std::optional<Kept> kept_of(std::string_view word);

struct SlowestQuery {
  store::Filter filter;
  std::string range_text;
  store::By by = store::By::kTrace;
  Kept kept = Kept::kNoMatter;  // looked up anew by each page: what was kept meanwhile may be on the later ones
  size_t limit = kDefaultRows;
  std::string cursor;  // empty: the first page
};

// With what else there is of the row's trace, for whoever looks for one that says more.
struct SlowestRow : store::SlowRow {
  uint64_t captures = 0;
  uint64_t snapshots = 0;
  bool stepped = false;  // while it ran, the stepper held a process of it: its time is not its own
};

struct SlowestAnswer {
  std::vector<SlowestRow> rows;
  std::string next_cursor;  // empty: this was the last page
};

Result<SlowestAnswer> run_slowest(const Stores& stores, SlowestQuery query, store::QueryBudget& budget);

struct ServiceAnswer {
  std::string service_namespace;
  std::string service;
  uint64_t operations = 0;
  uint64_t spans = 0;
  uint64_t errors = 0;
  store::Histogram durations;
};

struct ServicesAnswer {
  std::vector<ServiceAnswer> services;  // by service, then namespace
  store::TimeRange counted;             // counted.h
};

struct OperationsAnswer {
  std::vector<store::OperationStats> operations;  // by service, then operation, then kind
  store::TimeRange counted;
};

Result<ServicesAnswer> run_services(store::SpanStore& store, const store::TimeRange& range, uint64_t now_unix_nano,
                                    store::QueryBudget& budget);
Result<OperationsAnswer> run_operations(store::SpanStore& store, const store::TimeRange& range,
                                        const std::optional<std::string>& service, uint64_t now_unix_nano,
                                        store::QueryBudget& budget);

struct LatencyQuery {
  store::TimeRange range;
  std::optional<std::string> service;
  std::optional<std::string> operation;
  uint64_t step_nano = 0;  // whole minutes; 0: some 100 to 200 points
  bool heatmap = false;
};

struct HeatmapCell {
  uint64_t low_nano = 0;   // exclusive, but for 0
  uint64_t high_nano = 0;  // inclusive
  uint64_t count = 0;
};

struct LatencyAnswerPoint {
  store::LatencyPoint point;
  std::vector<HeatmapCell> cells;  // all points share the bounds of at most some 40 rows
};

struct LatencyAnswer {
  uint64_t step_nano = 0;
  std::vector<LatencyAnswerPoint> points;
};

// The step a query gets: its own when it is a whole number of minutes and not too many, or a chosen one.
Result<uint64_t> latency_step(const LatencyQuery& query, uint64_t now_unix_nano);
Result<LatencyAnswer> run_latency(store::SpanStore& store, const LatencyQuery& query, store::QueryBudget& budget);

// A page of a trace that is oversized (store/span_store.h), or that needs too much memory (read_trace.h); any other
// trace comes whole.
struct TracePage {
  size_t limit = store::kTracePageSpans;
  std::string cursor;        // empty: the first page
  bool may_be_whole = true;  // false: a page in any case
};
inline constexpr size_t kMaxTracePageSpans = 10'000;
// The trace's document (docs/api.md), or a page of it where the document would have more than `most_bytes` or pass the
// budget; kExhausted when the page would, too. trace_text.h has the document in pieces.
Result<std::string> run_trace(const Stores& stores, const TraceId& trace_id, store::QueryBudget& budget,
                              TracePage page = {}, uint64_t most_bytes = UINT64_MAX);

}  // namespace fathom::query
