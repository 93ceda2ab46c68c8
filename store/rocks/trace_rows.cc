#include "store/rocks/trace_rows.h"

#include <algorithm>
#include <cassert>
#include <tuple>

#include "store/rocks/trace_tally.h"

namespace fathom::store {

namespace {

bool all_parents_stored(const std::vector<TraceRow>& rows) {
  std::vector<SpanId> ids;
  ids.reserve(rows.size());
  for (const TraceRow& row : rows) ids.push_back(row.span_id);
  std::sort(ids.begin(), ids.end());
  return std::all_of(rows.begin(), rows.end(), [&](const TraceRow& row) {
    return row.parent_span_id.is_zero() || std::binary_search(ids.begin(), ids.end(), row.parent_span_id);
  });
}

}  // namespace

// Rows with one id and other contents need an order too: first received, first.
bool earlier(const TraceRow& a, const TraceRow& b) {
  return std::tie(a.start_unix_nano, a.span_id, a.sequence, a.operation, b.duration_nano) <
         std::tie(b.start_unix_nano, b.span_id, b.sequence, b.operation, a.duration_nano);
}

TraceSummary summarise(const std::vector<TraceRow>& rows) {
  assert(!rows.empty());
  TraceTally tally;
  for (const TraceRow& row : rows) tally.add(row);
  TraceSummary summary = tally.summary();
  summary.complete = all_parents_stored(rows);
  return summary;
}

}  // namespace fathom::store
