// NumberTally: where a number is greater, or smaller, among the selected.
//
// Purpose: amounts, sizes and times are seldom equal, so their single values tell nothing: of all bounds between two of
// them the one is taken that parts the two sides best, and told as a round number. Thread safety: one thread. Units:
// the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "query/strata.h"
#include "query/trait.h"

namespace fathom::query {

// A span or a request, of one of the two sides.
struct Member {
  bool is_selected = false;
  uint32_t stratum = 0;
  uint64_t hash = 0;       // its own: what equal sets of members are told by
  uint64_t trace_bit = 0;  // one bit of its trace, by hash
};

struct Bound {
  TraitIs is = TraitIs::kAtLeast;
  double value = 0;
  double surprise = 0;
  double penalty = 0;  // what so many possible bounds give by chance
};

class NumberTally {
 public:
  // Of a member that says several the greatest counts; they must come together.
  void add(uint32_t member, double value, bool is_whole);

  // `absent_is_zero`: members that say none have 0, and are parted from below only; otherwise they are left out of the
  // choice. Nothing where there are few different numbers, or none
  // parts the sides by more than chance.
  std::optional<Bound> best_bound(const std::vector<Member>& members, bool absent_is_zero) const;
  // The members that are within it.
  std::vector<uint32_t> within(const Bound& bound) const;
  std::string text(double bound) const;

 private:
  struct Number {
    double value = 0;
    uint32_t member = 0;
  };
  struct Cut {
    double below;  // the greatest number that is smaller
    double from;   // the smallest one that is not
    Sides under;   // members that have a smaller one
  };
  static constexpr uint32_t kAbsent = UINT32_MAX;  // stands for all that say none
  static std::vector<Cut> cuts_of(const std::vector<Number>& sorted, const std::vector<Member>& members,
                                  const Sides& absent);
  static std::optional<Bound> best_of(const std::vector<Cut>& cuts, const Sides& all, bool also_at_most);

  std::vector<Number> numbers_;
  bool all_whole_ = true;
};

// The number in (`low`, `high`] that has the fewest digits.
double roundest_above(double low, double high);

}  // namespace fathom::query
