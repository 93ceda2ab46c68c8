#include "query/number_tally.h"

#include <algorithm>
#include <cmath>

#include "query/strata.h"
#include "store/span.h"

namespace fathom::query {

namespace {

// With fewer different numbers each is a value of its own, and told as such.
constexpr size_t kFewestNumbers = 8;
constexpr int kMostDigits = 17;

double surprise_of(const Sides& part, const Sides& all) {
  return surprise(static_cast<double>(part.selected), static_cast<double>(all.selected),
                  static_cast<double>(part.others), static_cast<double>(all.others));
}

Sides minus(const Sides& all, const Sides& part) {
  return {all.selected - part.selected, all.others - part.others};
}

// Chance finds the best of so many bounds.
double penalty_of(size_t bounds) {
  return 2 * std::log(static_cast<double>(std::max<size_t>(bounds, 1)));
}

}  // namespace

double roundest_above(double low, double high) {
  if (low < 0 && high >= 0) return 0;
  double step = std::pow(10, std::ceil(std::log10(std::max(std::abs(low), std::abs(high)))));
  for (int digits = 0; digits < kMostDigits; ++digits, step /= 10) {
    double candidate = std::floor(high / step) * step;
    if (candidate > low) return candidate;
  }
  return high;
}

void NumberTally::add(uint32_t member, double value, bool is_whole) {
  if (!std::isfinite(value)) return;
  all_whole_ = all_whole_ && is_whole;
  if (!numbers_.empty() && numbers_.back().member == member) {
    numbers_.back().value = std::max(numbers_.back().value, value);
  } else {
    numbers_.push_back({value, member});
  }
}

std::optional<Bound> NumberTally::best_bound(const std::vector<Member>& members, bool absent_is_zero) const {
  std::vector<Number> sorted = numbers_;
  std::sort(sorted.begin(), sorted.end(), [](const Number& a, const Number& b) { return a.value < b.value; });
  Sides present, all;
  for (const Number& number : sorted) present.add(members[number.member].is_selected);
  for (const Member& member : members) all.add(member.is_selected);
  if (absent_is_zero) {
    sorted.insert(sorted.begin(), {0, kAbsent});
    return best_of(cuts_of(sorted, members, minus(all, present)), all, false);
  }
  std::vector<Cut> cuts = cuts_of(sorted, members, {});
  return cuts.size() + 1 < kFewestNumbers ? std::nullopt : best_of(cuts, present, true);
}

// Between each two different numbers there is one; `absent` are those of the number that no member said.
std::vector<NumberTally::Cut> NumberTally::cuts_of(const std::vector<Number>& sorted,
                                                   const std::vector<Member>& members, const Sides& absent) {
  std::vector<Cut> cuts;
  Sides under;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i].value != sorted[i - 1].value) cuts.push_back({sorted[i - 1].value, sorted[i].value, under});
    if (sorted[i].member == kAbsent) {
      under = absent;
    } else {
      under.add(members[sorted[i].member].is_selected);
    }
  }
  return cuts;
}

std::optional<Bound> NumberTally::best_of(const std::vector<Cut>& cuts, const Sides& all, bool also_at_most) {
  double penalty = penalty_of(cuts.size());
  std::optional<Bound> best;
  auto offer = [&](TraitIs is, double value, double measure) {
    if (measure > (best ? best->surprise : penalty)) best = Bound{is, value, measure, penalty};
  };
  for (const Cut& cut : cuts) {
    offer(TraitIs::kAtLeast, roundest_above(cut.below, cut.from), surprise_of(minus(all, cut.under), all));
    // The other way round: the roundest number in [below, from).
    if (also_at_most) offer(TraitIs::kAtMost, -roundest_above(-cut.from, -cut.below), surprise_of(cut.under, all));
  }
  return best;
}

std::vector<uint32_t> NumberTally::within(const Bound& bound) const {
  std::vector<uint32_t> members;
  for (const Number& number : numbers_) {
    bool is_within = bound.is == TraitIs::kAtLeast ? number.value >= bound.value : number.value <= bound.value;
    if (is_within) members.push_back(number.member);
  }
  return members;
}

std::string NumberTally::text(double bound) const {
  constexpr double kExactlyWhole = 9007199254740992.0;  // 2^53
  bool is_whole = all_whole_ && std::abs(bound) < kExactlyWhole && bound == std::floor(bound);
  return store::value_text(is_whole ? store::ValueView::of_int(static_cast<int64_t>(bound))
                                    : store::ValueView::of_double(bound));
}

}  // namespace fathom::query
