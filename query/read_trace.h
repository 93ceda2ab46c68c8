// read_trace(): a trace as an answer may hold it: whole, or a page of it.
//
// Purpose: a trace can need more memory than a query may use, or than unread answers may use together, although it is
// not oversized for the store. Then the caller asks for a page. Pages are marked as `oversized`. Thread safety: a plain
// function. Errors: as SpanStore::trace_page(); kExhausted if the whole trace, or the page, needs too much memory.
#pragma once

#include <optional>

#include "base/result.h"
#include "query/queries.h"
#include "store/query_budget.h"
#include "store/span_store.h"

namespace fathom::query {

// `after`: what the page's cursor says.
Result<store::StoredTrace> read_trace(store::SpanStore& spans, const TraceId& trace_id,
                                      const std::optional<store::TraceCursor>& after, const TracePage& page,
                                      store::QueryBudget& budget);

}  // namespace fathom::query
