#include "query/read_trace.h"

namespace fathom::query {

using store::QueryBudget;
using store::SpanStore;
using store::StoredTrace;
using store::TraceCursor;

namespace {

Result<StoredTrace> read_page(SpanStore& spans, const TraceId& trace_id, const TraceCursor& after, size_t limit,
                              QueryBudget& budget) {
  Result<StoredTrace> page = spans.trace_page(trace_id, after, limit, budget);
  if (page) page->oversized = true;
  return page;
}

// Nothing: it needs too much memory.
std::optional<Result<StoredTrace>> read_whole(SpanStore& spans, const TraceId& trace_id, const TraceRead& read,
                                              QueryBudget& budget) {
  const uint64_t before = budget.held_bytes();
  Result<StoredTrace> trace = spans.trace_page(trace_id, std::nullopt, read.page_spans, budget);
  if (!trace && trace.error().code == ErrorCode::kExhausted) return std::nullopt;
  if (trace && !trace->oversized && budget.held_bytes() - before > read.most_whole_bytes) return std::nullopt;
  return trace;
}

}  // namespace

Result<StoredTrace> read_trace(SpanStore& spans, const TraceId& trace_id, const TraceRead& read, QueryBudget& budget) {
  if (read.after) return read_page(spans, trace_id, *read.after, read.page_spans, budget);
  if (read.may_be_whole) {
    if (auto whole = read_whole(spans, trace_id, read, budget)) return *std::move(whole);
    budget.restart();
  }
  const TraceCursor beginning{.received_sequence = spans.stats().received_sequence};
  return read_page(spans, trace_id, beginning, read.page_spans, budget);
}

}  // namespace fathom::query
