// What the model shows of many spans: all of them, always.
#include <algorithm>
#include <map>
#include <set>

#include "store/call_tally.h"
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

CallSpan call_span(const Row& row) {
  return {row.operation_number, row.operation.kind, row.is_error(), row.stored.span.duration_nano()};
}

bool is_answered(const Trace& trace, const Row& call) {
  return std::ranges::any_of(trace.spans, [&](const RowPtr& row) {
    return !row->is_root() && row->stored.span.parent_span_id == call.stored.span.span_id &&
           answers(service_of(*row) != service_of(call), row->operation.kind);
  });
}

void count_call(const Trace& trace, const Row& row, CallTally& tally) {
  if (is_failed_call(call_span(row)) && !is_answered(trace, row)) {
    tally.add_unanswered(call_span(row), peer_of(row.stored.span, row.stored.resource));
  }
  const Row* parent = parent_of(trace, row);
  if (parent != nullptr && service_of(*parent) != service_of(row)) tally.add(call_span(*parent), call_span(row));
}

}  // namespace

Result<std::optional<uint64_t>> MemoryStore::first_start(const TimeRange& range, QueryBudget& budget) {
  Result<std::vector<RowPtr>> rows = read_rows(budget);
  if (!rows) return rows.error();
  std::optional<uint64_t> first;
  for (const RowPtr& row : *rows) {
    if (!row->repeated && range.contains(row->start_unix_nano))
      first = std::min(first.value_or(UINT64_MAX), row->start_unix_nano);
  }
  return first;
}

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

OperationKey MemoryStore::operation_numbered(uint64_t number) {
  std::lock_guard lock(mutex_);
  for (const auto& [operation, known] : operation_numbers_) {
    if (known == number) return operation;
  }
  return {};
}

std::vector<ServiceKey> MemoryStore::services_named(const std::string& name) {
  std::lock_guard lock(mutex_);
  std::vector<ServiceKey> found;
  for (const auto& [service, operations] : operations_) {
    if (service.second == name && !operations.empty()) found.push_back({service.first, service.second});
  }
  return found;
}

Result<CallSample> MemoryStore::calls(const TimeRange& range, uint64_t, QueryBudget& budget) {
  Result<Traces> traces = read_traces(budget);
  if (!traces) return traces.error();
  CallSample sample;
  CallTally tally;
  for (const auto& [id, trace] : *traces) {
    uint64_t before = sample.spans;
    for (const RowPtr& row : trace.spans) {
      if (!range.contains(row->start_unix_nano)) continue;
      ++sample.spans;
      if (!trace.oversized) count_call(trace, *row, tally);
    }
    sample.traces += sample.spans > before;
  }
  tally.finish([this](uint64_t number) { return operation_numbered(number); },
               [this](const std::string& name) { return services_named(name); }, sample);
  sample.spans_looked_at = sample.spans;
  sample.traces_looked_at = sample.traces;
  return sample;
}

}  // namespace fathom::store
