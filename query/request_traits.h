// What a request says of itself in the spans beside the one that is looked at: failed, repeated and slow operations,
// and the attributes of its other spans.
//
// Purpose: the span that a person asks about is seldom the one that knows why: the customer is told by the cart's span,
// the failing host by that of payments. Thread safety: plain functions.
#pragma once

#include "base/ids.h"
#include "query/trait_tally.h"
#include "store/span_store.h"

namespace fathom::query {

// Adds to the member that was begun; attributes of the span `own`, and its resource's, are left out.
void tally_request(const store::StoredTrace& trace, const SpanId& own, TraitTally& tally);

// Of each of the trace's spans its duration without what its children cover of it; nanoseconds.
std::vector<uint64_t> self_times(const store::StoredTrace& trace);

}  // namespace fathom::query
