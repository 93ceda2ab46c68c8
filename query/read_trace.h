// read_trace(): a trace as an answer may hold it: whole, or a page of it.
//
// Purpose: a trace can need more memory than a query may use, or than unread answers may use together, although it is
// not oversized for the store. Such a trace is answered in pages, as oversized ones are. Thread safety: plain
// functions. Errors: as SpanStore::trace_page(); kExhausted only if a page needs too much memory, too.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "store/query_budget.h"
#include "store/span_store.h"

namespace fathom::query {

// Of a whole trace: half of what all unread answers may use.
inline constexpr uint64_t kMostWholeTraceBytes = uint64_t{128} << 20;

struct TraceRead {
  std::optional<store::TraceCursor> after;  // nothing: from the beginning
  size_t page_spans = store::kTracePageSpans;
  bool may_be_whole = true;
  uint64_t most_whole_bytes = kMostWholeTraceBytes;
};

// Nothing else may be held under the budget, because what a whole trace has spent in vain is given back. Each page is
// marked as `oversized`.
Result<store::StoredTrace> read_trace(store::SpanStore& spans, const TraceId& trace_id, const TraceRead& read,
                                      store::QueryBudget& budget);

}  // namespace fathom::query
