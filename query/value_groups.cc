// Some values of one key that together say what none of them says alone: ten customers of five hundred, who make up all
// that is slow. Of so many values some always gather on one side by chance; so a group's surprise is less what choosing
// its values from all there may be is worth (a union bound), and what one trace alone says, as an id does, is no
// candidate.
#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "query/trait_tally.h"

namespace fathom::query {

namespace {

constexpr size_t kFewestValues = 3;
constexpr int kFewestTraces = 2;  // of each value, selected

}  // namespace

void TraitTally::Count::join(const Count& other) {
  sides.selected += other.sides.selected;
  sides.others += other.sides.others;
  for (const StratumSides& one : other.strata) {
    auto place = std::ranges::find(strata, one.stratum, &StratumSides::stratum);
    if (place == strata.end()) place = strata.insert(place, {one.stratum, {}});
    place->sides.selected += one.sides.selected;
    place->sides.others += one.sides.others;
  }
  fingerprint ^= other.fingerprint;
  traces |= other.traces;
}

void TraitTally::judge_groups(std::vector<Found>& found) const {
  std::unordered_map<std::string, std::vector<const Count*>> by_key;
  for (const auto& [name, count] : counts_) {
    bool has_values = count.trait.of == TraitOf::kAttribute || count.trait.of == TraitOf::kResource;
    if (has_values && std::popcount(count.traces) >= kFewestTraces) by_key[question_of(count.trait)].push_back(&count);
  }
  for (auto& [key, values] : by_key) {
    if (values.size() >= kFewestValues) judge_group(std::move(values), found);
  }
}

void TraitTally::judge_group(std::vector<const Count*> values, std::vector<Found>& found) const {
  std::ranges::sort(values, [this](const Count* a, const Count* b) {
    double first = compare(*a).surprise, second = compare(*b).surprise;
    return first != second ? first > second : a->trait.value < b->trait.value;
  });
  const double choice = 2 * std::log(static_cast<double>(members_.size()));
  Count joint{.trait = values[0]->trait};
  joint.trait.is = TraitIs::kOneOf;
  joint.trait.value.clear();
  Difference best;
  best.shares.surprise = std::max(least_surprise(), compare(*values[0]).surprise);
  uint64_t fingerprint = 0;
  for (size_t i = 0; i < values.size() && joint.sides.selected < totals().selected; ++i) {
    joint.join(*values[i]);
    Shares shares = compare(joint);
    shares.surprise -= choice * static_cast<double>(i + 1);
    // A member with two of the values would count twice.
    bool is_sound = joint.sides.selected <= totals().selected && joint.sides.others <= totals().others;
    if (i + 1 < kFewestValues || !is_sound || shares.surprise <= best.shares.surprise) continue;
    best = {joint.trait, joint.sides, shares, {}, {}};
    for (size_t k = 0; k <= i; ++k) best.values.push_back(values[k]->trait.value);
    fingerprint = joint.fingerprint;
  }
  if (!best.values.empty()) found.push_back({std::move(best), fingerprint});
}

}  // namespace fathom::query
