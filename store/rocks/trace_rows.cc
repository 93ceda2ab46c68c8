#include "store/rocks/trace_rows.h"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace fathom::store {

namespace {

// Rows with one id and other contents need an order too: first received, first.
bool earlier(const TraceRow& a, const TraceRow& b) {
  return std::tie(a.start_unix_nano, a.span_id, a.sequence, a.operation, b.duration_nano) <
         std::tie(b.start_unix_nano, b.span_id, b.sequence, b.operation, a.duration_nano);
}

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

TraceSummary summarise(const std::vector<TraceRow>& rows) {
  assert(!rows.empty());
  TraceSummary summary;
  const TraceRow* first = rows.data();
  const TraceRow* root = nullptr;
  uint64_t end = 0;
  summary.first_sequence = UINT64_MAX;
  for (const TraceRow& row : rows) {
    if (earlier(row, *first)) first = &row;
    if (row.parent_span_id.is_zero() && (root == nullptr || earlier(row, *root))) root = &row;
    end = std::max(end, row.end_unix_nano());
    summary.first_sequence = std::min(summary.first_sequence, row.sequence);
    summary.error |= row.error;
  }
  summary.start_unix_nano = first->start_unix_nano;
  summary.duration_nano = end - first->start_unix_nano;
  summary.has_root = root != nullptr;
  summary.root_duration_nano = root != nullptr ? root->duration_nano : 0;
  summary.root_span_id = root != nullptr ? root->span_id : first->span_id;
  summary.root_operation = root != nullptr ? root->operation : first->operation;
  summary.spans = rows.size();
  summary.complete = all_parents_stored(rows);
  return summary;
}

}  // namespace fathom::store
