// Of which time counts are: what a number of spans is divided by to be a rate.
//
// Purpose: a range that begins before the store has anything, or ends after now, is longer than the time that its spans
// came in. Thread safety: plain functions. Units: in names. Errors: as the store's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/result.h"
#include "net/json_writer.h"
#include "store/span_store.h"

namespace fathom::query {

// The range widened to whole minutes, as spans are counted.
store::TimeRange whole_minutes(const store::TimeRange& range);

// The part of it, up to now, that the store may have spans of: since it received the first of what it holds, or since
// the first span in the range where that began earlier. One that ends before that is empty.
Result<store::TimeRange> counted_time(store::SpanStore& store, const store::TimeRange& range, uint64_t now_unix_nano,
                                      store::QueryBudget& budget);

inline uint64_t length_nano(const store::TimeRange& range) {
  return range.to_unix_nano - std::min(range.from_unix_nano, range.to_unix_nano);
}

// The members counted_from_unix_nano, counted_to_unix_nano and counted_nano.
void write_counted(net::JsonWriter& json, const store::TimeRange& counted);

}  // namespace fathom::query
