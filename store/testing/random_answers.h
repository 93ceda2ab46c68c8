// Answers of a store as text: equal texts are equal answers, and a difference can be read.
//
// Purpose: one comparison for every kind of answer. What the contract leaves open is left out (the order of spans that
// are equal in start and id, how attribute values are counted, the spans of a page of an oversized trace and the upper
// bound of their number: random_pages.h). Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "store/span_store.h"

namespace fathom::store::testing {

std::string answer_text(const SlowPage& page);
std::string answer_text(const std::vector<SlowRow>& rows);
std::string answer_text(const StoredTrace& trace);
std::string answer_text(const std::vector<OperationStats>& operations);
std::string answer_text(const std::vector<LatencyPoint>& points);
std::string answer_text(const std::vector<std::string>& keys);
// Says so when they do not come most frequent first.
std::string answer_text(const std::vector<ValueCount>& values);

std::string histogram_text(const Histogram& histogram);

// Messages are each store's own, but a fault of the store itself is worth reading.
std::string error_text(const Error& error);

template <typename T>
std::string answer_text(const Result<T>& result) {
  if (!result) return error_text(result.error());
  return answer_text(*result);
}

std::string filter_text(const Filter& filter, By by);

}  // namespace fathom::store::testing
