// What the model shows of many spans: all of them, always.
#include <algorithm>
#include <map>
#include <set>

#include "store/model/memory_store.h"

namespace fathom::store {

using namespace model;

namespace {

bool matches(const Row& row, const Filter& filter) {
  return filter.range.contains(row.start_unix_nano) && matches_duration(row.stored.span.duration_nano(), filter) &&
         matches_conditions(row, filter);
}

template <typename Visit>
void each_match(const Traces& traces, const Filter& filter, Visit visit) {
  for (const auto& [id, trace] : traces) {
    for (const RowPtr& row : trace.spans) {
      if (matches(*row, filter)) visit(*row);
    }
  }
}

ServiceKey service_of(const Row& row) {
  return {row.operation.service_namespace, row.operation.service};
}

// The first of the trace's spans that has the id, as it was received.
const Row* parent_of(const Trace& trace, const Row& child) {
  if (child.is_root()) return nullptr;
  const Row* found = nullptr;
  for (const RowPtr& row : trace.spans) {
    if (row->stored.span.span_id != child.stored.span.parent_span_id) continue;
    if (found == nullptr || row->sequence < found->sequence) found = row.get();
  }
  return found;
}

void count_call(const Trace& trace, const Row& row, std::map<std::pair<ServiceKey, ServiceKey>, CallEdge>& edges) {
  const Row* parent = parent_of(trace, row);
  if (parent == nullptr || service_of(*parent) == service_of(row)) return;
  CallEdge& edge = edges[{service_of(*parent), service_of(row)}];
  edge.caller = service_of(*parent);
  edge.callee = service_of(row);
  ++edge.calls;
  edge.errors += row.is_error();
  edge.durations.record(row.stored.span.duration_nano());
}

}  // namespace

Result<> MemoryStore::visit_times(const Filter& filter, const VisitTimes& visit, QueryBudget& budget) {
  Result<Traces> traces = read_traces(budget);
  if (!traces) return traces.error();
  each_match(*traces, filter, [&](const Row& row) {
    uint64_t duration = row.stored.span.duration_nano();
    uint8_t error = row.is_error();
    visit({std::span(&row.start_unix_nano, 1), std::span(&duration, 1), std::span(&error, 1)});
  });
  return {};
}

Result<uint64_t> MemoryStore::spans_at_most(const TimeRange& range, QueryBudget& budget) {
  Result<Traces> traces = read_traces(budget);
  if (!traces) return traces.error();
  uint64_t spans = 0;
  each_match(*traces, {.range = range, .service = {}, .operation = {}, .where = {}}, [&](const Row&) { ++spans; });
  return spans;
}

Result<SampleCount> MemoryStore::sample(const Filter& filter, const SampleLimits& limits, const VisitSpan& visit,
                                        QueryBudget& budget) {
  Result<Traces> traces = read_traces(budget);
  if (!traces) return traces.error();
  SampleCount count;
  each_match(*traces, filter, [&](const Row& row) {
    ++count.spans;
    if (count.shown == limits.shown) return;
    ++count.shown;
    visit(row.stored);
  });
  return count;
}

Result<CallSample> MemoryStore::calls(const TimeRange& range, uint64_t, QueryBudget& budget) {
  Result<Traces> traces = read_traces(budget);
  if (!traces) return traces.error();
  CallSample sample;
  std::map<std::pair<ServiceKey, ServiceKey>, CallEdge> edges;
  for (const auto& [id, trace] : *traces) {
    uint64_t before = sample.spans;
    for (const RowPtr& row : trace.spans) {
      if (!range.contains(row->start_unix_nano)) continue;
      ++sample.spans;
      count_call(trace, *row, edges);
    }
    sample.traces += sample.spans > before;
  }
  sample.spans_looked_at = sample.spans;
  sample.traces_looked_at = sample.traces;
  for (auto& [key, edge] : edges) sample.edges.push_back(std::move(edge));
  return sample;
}

}  // namespace fathom::store
