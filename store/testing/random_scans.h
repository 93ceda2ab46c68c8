// What the scans of a store (scan.h) show, as text: equal texts are equal answers.
//
// Purpose: the random sequences' questions that have visitors instead of answers. Scans come in no order, and rows that
// are equal may come more than once; so lines are sorted, and unless all rows are `unique` each is written once and
// nothing is counted. Besides, what one store must keep to by itself is checked here, and a fault is in the text.
// Thread safety: none.
#pragma once

#include <string>

#include "store/span_store.h"

namespace fathom::store::testing {

// visit_times(), and that spans_at_most() allows for what it visits.
std::string times_text(SpanStore& store, const Filter& filter, bool unique);
// sample() without limits, and that with `limits` it shows some of the same.
std::string sample_text(SpanStore& store, const Filter& filter, const SampleLimits& limits, bool unique);
// calls(); of rows that are not unique nothing: which of the spans with a parent's id is the parent is open.
std::string calls_text(SpanStore& store, const TimeRange& range, bool unique);

}  // namespace fathom::store::testing
