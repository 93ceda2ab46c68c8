// A trace read page by page, as text: equal texts say that two stores have the same spans.
//
// Purpose: which spans are on which page of an oversized trace is the store's affair, and so is how far its number of
// spans is above the truth. Thread safety: pure functions.
#pragma once

#include <string>

#include "store/span_store.h"

namespace fathom::store::testing {

// Says so when a page is too large, tells of another trace than the first one, or when more spans come than there are
// at most.
std::string trace_pages_text(SpanStore& store, const TraceId& id, size_t limit);

}  // namespace fathom::store::testing
