#include "query/read_trace.h"

namespace fathom::query {

using store::QueryBudget;
using store::SpanStore;
using store::StoredTrace;
using store::TraceCursor;

namespace {

// Of a whole trace: half of what all unread answers may use.
constexpr uint64_t kMostWholeTraceBytes = uint64_t{128} << 20;

Result<StoredTrace> read_whole(SpanStore& spans, const TraceId& trace_id, size_t limit, QueryBudget& budget) {
  const uint64_t before = budget.held_bytes();
  Result<StoredTrace> trace = spans.trace_page(trace_id, std::nullopt, limit, budget);
  if (!trace || trace->oversized || budget.held_bytes() - before <= kMostWholeTraceBytes) return trace;
  return exhausted("the whole trace needs too much memory");
}

}  // namespace

Result<StoredTrace> read_trace(SpanStore& spans, const TraceId& trace_id, const std::optional<TraceCursor>& after,
                               const TracePage& page, QueryBudget& budget) {
  if (!after && page.may_be_whole) return read_whole(spans, trace_id, page.limit, budget);
  const TraceCursor beginning{.received_sequence = spans.stats().received_sequence};
  Result<StoredTrace> read = spans.trace_page(trace_id, after.value_or(beginning), page.limit, budget);
  if (read) read->oversized = true;
  return read;
}

}  // namespace fathom::query
