// Differences: what the spans of a selection have more often than the others; docs/api.md describes it.
//
// Purpose: somebody marks the slow ones in a picture, and reads which operation, customer, version or node they are of.
// Some of both are looked at; what one value has in both is compared by the log-likelihood ratio of the two shares, so
// that neither a rare value's chance nor a frequent value's size comes first. Source of the measure: Dunning, "Accurate
// Methods for the Statistics of Surprise and Coincidence" (1993). Thread safety: plain functions. Errors: the store's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/span_store.h"

namespace fathom::query {

inline constexpr uint64_t kDefaultDifferences = 20;
inline constexpr uint64_t kMaxDifferences = 200;

struct DifferencesQuery {
  store::Filter selected;  // `service`, `operation`, `where` and `errors` hold for the others, too
  store::TimeRange view;   // of the others; widened by the selection
  size_t limit = kDefaultDifferences;
};

enum class TraitOf : uint8_t { kOperation, kService, kStatus, kAttribute, kResource };
std::string_view trait_of_name(TraitOf of);

// Something that a span may have.
struct Trait {
  TraitOf of = TraitOf::kOperation;
  std::string key;  // empty but for attributes and resources
  std::string value;
};

struct Difference {
  Trait trait;
  uint64_t selected = 0;    // spans that have it, of those looked at
  uint64_t rest = 0;        // likewise of the others
  double surprise = 0;      // the log-likelihood ratio, G^2
  std::vector<Trait> also;  // what exactly the same spans have
};

struct DifferencesAnswer {
  store::SampleCount selected;
  store::SampleCount rest;
  std::vector<Difference> differences;  // the greatest first
};

// G^2 of `a` of `a_total` against `b` of `b_total`; negative where the first share is the smaller one.
double surprise(uint64_t a, uint64_t a_total, uint64_t b, uint64_t b_total);

Result<DifferencesAnswer> run_differences(store::SpanStore& store, const DifferencesQuery& query,
                                          store::QueryBudget& budget);

std::string to_json(const DifferencesAnswer& answer);

}  // namespace fathom::query
