#include "store/model/rows.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "store/model/span_text.h"

namespace fathom::store::model {

std::shared_ptr<Row> decode_row(const BatchPtr& batch, const Batch::Row& encoded) {
  auto row = std::make_shared<Row>();
  row->batch = batch;
  StoredSpan& stored = row->stored;
  stored.span = batch->span(encoded, row->scratch);
  stored.resource = batch->resource(encoded.resource);
  stored.scope = batch->scope(encoded.scope);
  stored.service_namespace = store::service_namespace(stored.resource);
  stored.service = store::service_name(stored.resource);
  stored.clock = batch->clock();
  row->content = content_text(stored);
  row->start_unix_nano = corrected_unix_nano(stored.span.start_unix_nano, stored.clock);
  row->end_unix_nano = end_of(row->start_unix_nano, stored.span.duration_nano());
  return row;
}

uint64_t Trace::start_unix_nano() const {
  uint64_t earliest = UINT64_MAX;
  for (const RowPtr& row : spans) earliest = std::min(earliest, row->start_unix_nano);
  return earliest;
}

uint64_t Trace::duration_nano() const {
  uint64_t latest = 0;
  for (const RowPtr& row : spans) latest = std::max(latest, row->end_unix_nano);
  return latest - start_unix_nano();
}

uint64_t Trace::first_sequence() const {
  uint64_t first = UINT64_MAX;
  for (const RowPtr& row : spans) first = std::min(first, row->sequence);
  return first;
}

bool Trace::complete() const {
  std::set<SpanId> stored;
  for (const RowPtr& row : spans) stored.insert(row->stored.span.span_id);
  return std::ranges::all_of(
      spans, [&](const RowPtr& row) { return row->is_root() || stored.contains(row->stored.span.parent_span_id); });
}

bool Trace::error() const {
  return std::ranges::any_of(spans, [](const RowPtr& row) { return row->is_error(); });
}

const Row* Trace::root() const {
  for (const RowPtr& row : spans) {
    if (row->is_root()) return row.get();
  }
  return nullptr;
}

namespace {

bool earlier(const RowPtr& a, const RowPtr& b) {
  auto key = [](const Row& row) {
    return std::tuple(row.start_unix_nano, row.stored.span.span_id, row.sequence, row.operation_number,
                      UINT64_MAX - row.stored.span.duration_nano(), std::string_view(row.content));
  };
  return key(*a) < key(*b);
}

}  // namespace

Traces group_traces(const std::vector<RowPtr>& rows) {
  Traces traces;
  for (const RowPtr& row : rows) {
    if (!row->repeated) traces[row->stored.span.trace_id].spans.push_back(row);
  }
  for (auto& [id, trace] : traces) std::ranges::sort(trace.spans, earlier);
  return traces;
}

bool matches_conditions(const Row& row, const Filter& filter) {
  if (filter.service && row.stored.service != *filter.service) return false;
  if (filter.operation && row.stored.operation != *filter.operation) return false;
  if (filter.errors && !row.is_error()) return false;
  return std::ranges::all_of(filter.where, [&](const Condition& condition) {
    return holds(condition, row.stored.span.attributes, row.stored.resource.attributes);
  });
}

bool matches_duration(uint64_t duration_nano, const Filter& filter) {
  return duration_nano >= filter.min_duration_nano && duration_nano <= filter.max_duration_nano;
}

namespace {

// The columns that say something of the span that is shown, and of its trace.
SlowRow shown_row(const Trace& trace, const Row& shown) {
  SlowRow out;
  out.trace_id = shown.stored.span.trace_id;
  out.span_id = shown.stored.span.span_id;
  out.service = shown.stored.service;
  out.operation = shown.stored.operation;
  if (const Row* root = trace.root()) out.root_duration_nano = root->stored.span.duration_nano();
  out.complete = !trace.oversized && trace.complete();
  out.oversized = trace.oversized;
  out.spans = trace.spans.size();
  return out;
}

}  // namespace

SlowRow trace_row(const Trace& trace) {
  const Row* root = trace.root();
  SlowRow out = shown_row(trace, root != nullptr ? *root : *trace.spans.front());
  out.start_unix_nano = trace.start_unix_nano();
  out.duration_nano = trace.duration_nano();
  out.error = trace.error();
  return out;
}

SlowRow span_row(const Trace& trace, const Row& row) {
  SlowRow out = shown_row(trace, row);
  out.start_unix_nano = row.start_unix_nano;
  out.duration_nano = row.stored.span.duration_nano();
  out.error = row.is_error();
  return out;
}

}  // namespace fathom::store::model
