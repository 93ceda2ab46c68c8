// The queries of the model, one after another as span_store.h lists them.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "store/model/memory_store.h"

namespace fathom::store {

using namespace model;

namespace {

// Whole minutes that cover a range; an empty range covers none.
struct MinuteRange {
  explicit MinuteRange(const TimeRange& range) {
    if (range.from_unix_nano >= range.to_unix_nano) return;
    first = range.from_unix_nano / kNanosPerMinute;
    end = (range.to_unix_nano - 1) / kNanosPerMinute + 1;
  }
  bool contains(const Row& row) const {
    uint64_t minute = row.start_unix_nano / kNanosPerMinute;
    return minute >= first && minute < end;
  }

  uint64_t first = 0;
  uint64_t end = 0;
};

struct SlowerFirst {
  bool operator()(const SortKey& a, const SortKey& b) const { return slower(a, b); }
};
using SortedRows = std::map<SortKey, SlowRow, SlowerFirst>;

bool trace_matches(const Trace& trace, const Filter& filter) {
  return filter.range.contains(trace.start_unix_nano()) && matches_duration(trace.duration_nano(), filter) &&
         std::ranges::any_of(trace.spans, [&](const RowPtr& row) { return matches_conditions(*row, filter); });
}

bool span_matches(const Row& row, const Filter& filter) {
  return filter.range.contains(row.start_unix_nano) && matches_duration(row.stored.span.duration_nano(), filter) &&
         matches_conditions(row, filter);
}

void match_trace(const Trace& trace, const Filter& filter, SortedRows& out) {
  if (!trace_matches(trace, filter)) return;
  SlowRow row = trace_row(trace);
  out.emplace(SortKey{row.duration_nano, row.start_unix_nano, row.trace_id, {}}, row);
}

// Spans equal in all of the sort key are one row: the first of them, with an error of any.
void match_spans(const Trace& trace, const Filter& filter, SortedRows& out) {
  for (const RowPtr& span : trace.spans) {
    if (!span_matches(*span, filter)) continue;
    SlowRow row = span_row(trace, *span);
    SortKey key{row.duration_nano, row.start_unix_nano, row.trace_id, row.span_id};
    out.emplace(key, row).first->second.error |= row.error;
  }
}

bool is_named(const TraceId& id, const Filter& filter) {
  return !filter.traces || std::ranges::find(*filter.traces, id) != filter.traces->end();
}

SortedRows match(const Traces& traces, const Filter& filter, By by) {
  SortedRows out;
  for (const auto& [id, trace] : traces) {
    if (!is_named(id, filter)) continue;
    if (by == By::kTrace) {
      match_trace(trace, filter, out);
    } else {
      match_spans(trace, filter, out);
    }
  }
  return out;
}

// Rows in the order of the answer: of each trace the first one stays.
template <typename Rows, typename Row>
void keep_first_of_traces(Rows& rows, Row row) {
  std::set<TraceId> seen;
  std::erase_if(rows, [&](const auto& entry) { return !seen.insert(row(entry).trace_id).second; });
}

// Takes the traces back to what they were at a moment of reception.
void forget_later_rows(Traces& traces, uint64_t last_sequence) {
  for (auto& [id, trace] : traces) {
    std::erase_if(trace.spans, [=](const RowPtr& row) { return row->sequence > last_sequence; });
  }
  std::erase_if(traces, [](const auto& trace) { return trace.second.spans.empty(); });
}

bool in_service(const Row& row, const std::optional<std::string>& service) {
  return !service || row.stored.service == *service;
}

// A span's attributes and its resource's.
template <typename Visit>
void each_attribute(const Row& row, Visit visit) {
  for (const AttributeView& attribute : row.stored.span.attributes) visit(attribute);
  for (const AttributeView& attribute : row.stored.resource.attributes) visit(attribute);
}

std::set<std::string> values_of(const Row& row, const std::string& key) {
  std::set<std::string> values;
  each_attribute(row, [&](const AttributeView& attribute) {
    if (attribute.key == key) values.insert(value_text(attribute.value));
  });
  return values;
}

template <typename Visit>
void each_span(const Traces& traces, const TimeRange& range, Visit visit) {
  for (const auto& [id, trace] : traces) {
    for (const RowPtr& row : trace.spans) {
      if (range.contains(row->start_unix_nano)) visit(*row);
    }
  }
}

StoredTrace without_spans(const TraceId& id, const Trace& trace) {
  StoredTrace out;
  out.trace_id = id;
  out.start_unix_nano = trace.start_unix_nano();
  out.duration_nano = trace.duration_nano();
  out.complete = !trace.oversized && trace.complete();
  out.oversized = trace.oversized;
  out.spans_at_most = trace.spans.size();
  return out;
}

std::tuple<uint64_t, uint64_t, SpanId> page_place(const Row& row) {
  return {row.sequence, row.start_unix_nano, row.stored.span.span_id};
}

Result<StoredTrace> oversized_page(Trace trace, uint64_t received, const std::optional<TraceCursor>& after,
                                   size_t limit) {
  std::erase_if(trace.spans, [=](const RowPtr& row) { return row->sequence > received; });
  if (trace.spans.empty()) return not_found("no span of the trace was stored then");
  StoredTrace out = without_spans(trace.spans.front()->stored.span.trace_id, trace);
  std::ranges::sort(trace.spans, {}, [](const RowPtr& row) { return page_place(*row); });
  for (const RowPtr& row : trace.spans) {
    auto place = page_place(*row);
    if (after && place <= std::tuple(after->sequence, after->start_unix_nano, after->span_id)) continue;
    bool full = out.spans.size() >= std::max<size_t>(limit, 1);
    if (full && place != std::tuple(out.next->sequence, out.next->start_unix_nano, out.next->span_id)) return out;
    out.spans.push_back(row->stored);
    out.owners.push_back(row);
    out.next = TraceCursor{received,     row->sequence, row->sequence, row->start_unix_nano, row->stored.span.span_id,
                           row->sequence};
  }
  out.next.reset();
  return out;
}

}  // namespace

Result<SlowPage> MemoryStore::slowest(const Filter& filter, By by, size_t limit, const std::optional<Cursor>& cursor,
                                      QueryBudget& budget) {
  // Before the rows are read: what comes in meanwhile belongs to no page.
  uint64_t received = cursor ? cursor->received_sequence : received_sequence();
  Result<Traces> traces = read_traces(budget);
  if (!traces) return traces.error();
  forget_later_rows(*traces, received);
  SortedRows rows = match(*traces, filter, by);
  if (by == By::kSpanOfTrace) keep_first_of_traces(rows, [](const auto& entry) { return entry.second; });
  SlowPage page;
  auto at = cursor ? rows.upper_bound(cursor->last) : rows.begin();
  for (; at != rows.end() && page.rows.size() < limit; ++at) {
    page.rows.push_back(at->second);
    page.next = Cursor{received, at->first};
  }
  if (at == rows.end()) page.next.reset();
  return page;
}

Result<std::vector<SlowRow>> MemoryStore::find(const Filter& filter, By by, size_t limit, QueryBudget& budget) {
  Result<Traces> traces = read_traces(budget);
  if (!traces) return traces.error();
  std::vector<SlowRow> rows;
  for (const auto& [key, row] : match(*traces, filter, by)) rows.push_back(row);
  std::ranges::sort(rows, {}, [](const SlowRow& row) {
    return std::tuple(UINT64_MAX - row.start_unix_nano, row.duration_nano, row.trace_id, row.span_id);
  });
  if (by == By::kSpanOfTrace) keep_first_of_traces(rows, [](const SlowRow& row) { return row; });
  if (rows.size() > limit) rows.resize(limit);
  return rows;
}

Result<StoredTrace> MemoryStore::trace_page(const TraceId& trace_id, const std::optional<TraceCursor>& after,
                                            size_t limit, QueryBudget& budget) {
  uint64_t received = after ? after->received_sequence : received_sequence();
  Result<Traces> traces = read_traces(budget);
  if (!traces) return traces.error();
  auto found = traces->find(trace_id);
  if (found == traces->end()) return not_found("no span of trace " + trace_id.hex() + " is stored");
  if (found->second.oversized || after) return oversized_page(std::move(found->second), received, after, limit);
  const Trace& trace = found->second;
  StoredTrace out = without_spans(trace_id, trace);
  std::map<SpanId, size_t> contents;
  for (const RowPtr& row : trace.spans) ++contents[row->stored.span.span_id];
  for (const RowPtr& row : trace.spans) {
    out.spans.push_back(row->stored);
    out.spans.back().conflicting = contents[row->stored.span.span_id] > 1;
    out.owners.push_back(row);
  }
  return out;
}

Result<std::vector<TraceId>> MemoryStore::trace_ids(const TraceIdRange& range, size_t most, QueryBudget& budget) {
  Result<Traces> traces = read_traces(budget);
  if (!traces) return traces.error();
  std::vector<TraceId> ids;
  for (const auto& [id, trace] : *traces) {
    if (range.contains(id)) ids.push_back(id);
  }
  std::ranges::sort(ids);
  if (ids.size() > most) ids.resize(most);
  return ids;
}

Result<std::vector<OperationStats>> MemoryStore::operations(const TimeRange& range,
                                                            const std::optional<std::string>& service,
                                                            QueryBudget& budget) {
  Result<std::vector<RowPtr>> rows = read_rows(budget);
  if (!rows) return rows.error();
  MinuteRange minutes(range);
  std::map<OperationKey, OperationStats> found;
  for (const RowPtr& row : *rows) {
    if (!minutes.contains(*row) || !in_service(*row, service)) continue;
    OperationStats& stats = found[row->operation];
    stats.key = row->operation;
    ++stats.spans;
    stats.errors += row->is_error();
    stats.durations.record(row->stored.span.duration_nano());
  }
  std::vector<OperationStats> out;
  for (auto& [key, stats] : found) out.push_back(std::move(stats));
  return out;
}

Result<std::vector<std::string>> MemoryStore::attribute_keys(const TimeRange& range, QueryBudget& budget) {
  Result<Traces> traces = read_traces(budget);
  if (!traces) return traces.error();
  std::set<std::string> keys;
  each_span(*traces, range, [&](const Row& row) {
    each_attribute(row, [&](const AttributeView& attribute) { keys.emplace(attribute.key); });
  });
  return std::vector<std::string>(keys.begin(), keys.end());
}

Result<std::vector<ValueCount>> MemoryStore::attribute_values(const TimeRange& range, const std::string& key,
                                                              const std::string& containing, size_t limit,
                                                              QueryBudget& budget) {
  Result<Traces> traces = read_traces(budget);
  if (!traces) return traces.error();
  std::map<std::string, uint64_t> counts;
  each_span(*traces, range, [&](const Row& row) {
    for (const std::string& value : values_of(row, key)) ++counts[value];
  });
  std::vector<ValueCount> out;
  for (const auto& [value, spans] : counts) {
    if (contains_folded(value, containing)) out.push_back({value, spans});
  }
  std::ranges::stable_sort(out, std::greater(), &ValueCount::spans);
  if (out.size() > limit) out.resize(limit);
  return out;
}

Result<std::vector<LatencyPoint>> MemoryStore::latency(const TimeRange& range,
                                                       const std::optional<std::string>& service,
                                                       const std::optional<std::string>& operation, uint64_t step_nano,
                                                       QueryBudget& budget) {
  if (step_nano == 0 || step_nano % kNanosPerMinute != 0) return invalid("the step must be a whole number of minutes");
  Result<std::vector<RowPtr>> rows = read_rows(budget);
  if (!rows) return rows.error();
  MinuteRange minutes(range);
  std::map<uint64_t, LatencyPoint> points;
  for (const RowPtr& row : *rows) {
    if (!minutes.contains(*row) || !in_service(*row, service)) continue;
    if (operation && row->stored.operation != *operation) continue;
    uint64_t start = row->start_unix_nano - row->start_unix_nano % step_nano;
    LatencyPoint& point = points[start];
    point.start_unix_nano = start;
    point.errors += row->is_error();
    point.durations.record(row->stored.span.duration_nano());
  }
  std::vector<LatencyPoint> out;
  for (auto& [start, point] : points) out.push_back(std::move(point));
  return out;
}

}  // namespace fathom::store
