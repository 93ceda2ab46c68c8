#include "query/queries.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "query/captures.h"
#include "query/counted.h"
#include "query/cursor.h"
#include "query/snapshots/snapshot_store.h"
#include "query/stepped.h"

namespace fathom::query {

namespace {

void add_operation(ServiceAnswer& service, const store::OperationStats& operation) {
  service.service_namespace = operation.key.service_namespace;
  service.service = operation.key.service;
  ++service.operations;
  service.spans += operation.spans;
  service.errors += operation.errors;
  service.durations.merge(operation.durations);
}

auto operation_order(const store::OperationStats& stats) {
  return std::tie(stats.key.service, stats.key.service_namespace, stats.key.operation, stats.key.kind);
}

// Two look-ups by the trace's id, in indexes.
Result<SlowestRow> with_detail(const Stores& stores, store::SlowRow row, store::QueryBudget& budget) {
  auto captures = captures_of(stores, row.trace_id, budget);
  if (!captures) return captures.error();
  const uint64_t snapshots = stores.snapshots == nullptr ? 0 : stores.snapshots->count_of_trace(row.trace_id);
  return SlowestRow{std::move(row), captures->size(), snapshots};
}

Result<std::vector<TraceId>> kept_traces(const Stores& stores, Kept kept, store::QueryBudget& budget) {
  std::vector<TraceId> traces;
  if (kept != Kept::kRecorded && stores.captures != nullptr) {
    auto captured = stores.captures->traces(budget);
    if (!captured) return captured;
    traces = *std::move(captured);
  }
  if (kept != Kept::kCaptured && stores.snapshots != nullptr) {
    auto recorded = stores.snapshots->traces();
    if (!recorded) return recorded;
    traces.insert(traces.end(), recorded->begin(), recorded->end());
  }
  std::ranges::sort(traces);
  const auto twice = std::ranges::unique(traces);
  traces.erase(twice.begin(), twice.end());
  return traces;
}

store::TimeRange range_of_rows(const std::vector<SlowestRow>& rows) {
  store::TimeRange range{UINT64_MAX, 0};
  for (const SlowestRow& row : rows) {
    range.from_unix_nano = std::min(range.from_unix_nano, row.start_unix_nano);
    range.to_unix_nano = std::max(range.to_unix_nano, store::end_of(row.start_unix_nano, row.duration_nano));
  }
  return range;
}

Result<> mark_stepped(const Stores& stores, std::vector<SlowestRow>& rows, store::QueryBudget& budget) {
  if (rows.empty()) return {};
  const SteppedFinder finder(stores, range_of_rows(rows));
  for (SlowestRow& row : rows) {
    if (auto marked = finder.mark(row, budget); !marked) return marked;
  }
  return {};
}

}  // namespace

std::optional<Kept> kept_of(std::string_view word) {
  if (word == "captured") return Kept::kCaptured;
  if (word == "recorded") return Kept::kRecorded;
  if (word == "any") return Kept::kAny;
  return std::nullopt;
}

Result<SlowestAnswer> run_slowest(const Stores& stores, SlowestQuery query, store::QueryBudget& budget) {
  uint64_t hash = query_hash(query);
  std::optional<store::Cursor> cursor;
  if (!query.cursor.empty()) {
    auto position = decode_cursor(query.cursor, hash);
    if (!position) return position.error();
    query.filter.range = position->range;
    cursor = position->cursor;
  }
  if (query.kept != Kept::kNoMatter) {
    auto traces = kept_traces(stores, query.kept, budget);
    if (!traces) return traces.error();
    query.filter.traces = *std::move(traces);
  }
  auto page = stores.spans.slowest(query.filter, query.by, query.limit, cursor, budget);
  if (!page) return page.error();
  SlowestAnswer answer;
  for (store::SlowRow& row : page->rows) {
    auto known = with_detail(stores, std::move(row), budget);
    if (!known) return known.error();
    answer.rows.push_back(*std::move(known));
  }
  if (auto marked = mark_stepped(stores, answer.rows, budget); !marked) return marked.error();
  if (page->next) answer.next_cursor = encode_cursor({query.filter.range, *page->next}, hash);
  return answer;
}

Result<ServicesAnswer> run_services(store::SpanStore& store, const store::TimeRange& range, uint64_t now_unix_nano,
                                    store::QueryBudget& budget) {
  auto counted = counted_time(store, range, now_unix_nano, budget);
  if (!counted) return counted.error();
  auto operations = store.operations(range, std::nullopt, budget);
  if (!operations) return operations.error();
  std::map<std::pair<std::string, std::string>, ServiceAnswer> services;
  for (const auto& operation : *operations) {
    add_operation(services[{operation.key.service, operation.key.service_namespace}], operation);
  }
  ServicesAnswer answer{{}, *counted};
  for (auto& [name, service] : services) answer.services.push_back(std::move(service));
  return answer;
}

Result<OperationsAnswer> run_operations(store::SpanStore& store, const store::TimeRange& range,
                                        const std::optional<std::string>& service, uint64_t now_unix_nano,
                                        store::QueryBudget& budget) {
  auto counted = counted_time(store, range, now_unix_nano, budget);
  if (!counted) return counted.error();
  auto operations = store.operations(range, service, budget);
  if (!operations) return operations.error();
  std::sort(operations->begin(), operations->end(),
            [](const auto& a, const auto& b) { return operation_order(a) < operation_order(b); });
  return OperationsAnswer{*std::move(operations), *counted};
}

}  // namespace fathom::query
