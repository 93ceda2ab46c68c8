// Differences: what the spans of a selection have more often than the others; docs/api.md describes it.
//
// Purpose: somebody marks the slow ones in a picture, and reads which operation, customer, version or node they are of.
// Some of both are looked at; what one value has in both is compared, among spans of the same operation, by the
// log-likelihood ratio of the two shares (strata.h), so that neither a rare value's chance nor a frequent value's size
// comes first. Numbers are compared by the bound that parts the two sides best. Thread safety: plain functions. Errors:
// the store's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/strata.h"
#include "query/trait.h"
#include "store/span_store.h"

namespace fathom::query {

inline constexpr uint64_t kDefaultDifferences = 20;
inline constexpr uint64_t kMaxDifferences = 200;

struct DifferencesQuery {
  store::Filter selected;  // `service`, `operation`, `where` and `errors` hold for the others, too
  store::TimeRange view;   // of the others; widened by the selection
  size_t limit = kDefaultDifferences;
  bool requests = false;  // of the traces that the spans are of, what their other spans say
};

struct Difference {
  Trait trait;
  Sides sides;                           // members that have it, of those looked at
  Shares shares;                         // among their like
  std::vector<Trait> also;               // what exactly the same members have
  std::vector<std::string> values = {};  // of kOneOf, the most telling first; the trait's own value is empty
};

struct DifferencesAnswer {
  store::SampleCount selected;
  store::SampleCount rest;
  std::vector<Difference> differences;  // the greatest first
};

Result<DifferencesAnswer> run_differences(store::SpanStore& store, const DifferencesQuery& query,
                                          store::QueryBudget& budget);

std::string to_json(const DifferencesAnswer& answer);

}  // namespace fathom::query
