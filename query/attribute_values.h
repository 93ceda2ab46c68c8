// The values of an attribute, for people who are about to choose one: of all spans, or of one service's.
//
// Of all spans the store has counts. Of a service's it has none: an even sample of its spans is looked at, so that the
// answer costs the same however many there are; a rare value may be missing, and counts are of the sample. Thread
// safety: as the store's. Units: spans. Errors: as the store's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/span_store.h"

namespace fathom::query {

struct ValuesQuery {
  store::TimeRange range;
  std::string key;
  std::optional<std::string> service;
  std::string prefix;  // only values that contain it, whatever the case; who types a word's middle means it, too
  size_t limit = 0;
};

struct ValuesAnswer {
  std::vector<store::ValueCount> values;  // most frequent first, then by value
  bool estimated = false;                 // counts are of a sample, which is not all
};

Result<ValuesAnswer> run_values(store::SpanStore& store, const ValuesQuery& query, store::QueryBudget& budget);

}  // namespace fathom::query
