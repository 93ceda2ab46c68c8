// Strata: two groups compared among their like.
//
// Purpose: the slow spans of a view are of other operations than its quick ones, so whatever those operations say would
// seem to differ. A share of the selected is therefore compared with the share that the others would have if they were
// of the same operations, in the same mixture (direct standardization, as epidemiology compares populations of
// different age), and is worth as many others as its variance has. Where there is one operation, it is the plain share.
// Source of the measure: Dunning, "Accurate Methods for the Statistics of Surprise and Coincidence" (1993). Thread
// safety: one thread while anything is added. Units: members.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fathom::query {

struct Sides {
  uint64_t selected = 0;
  uint64_t others = 0;
  void add(bool is_selected) { ++(is_selected ? selected : others); }
};

// Of one stratum.
struct StratumSides {
  uint32_t stratum = 0;
  Sides sides;
};

struct Shares {
  double selected = 0;
  double others = 0;
  double surprise = 0;  // the log-likelihood ratio, G^2; negative where the first share is the smaller one
};

// G^2 of `a` of `a_total` against `b` of `b_total`; negative where the first share is the smaller one.
double surprise(double a, double a_total, double b, double b_total);

class Strata {
 public:
  // Takes a member; says which stratum it is of.
  uint32_t add(std::string_view name, bool is_selected);
  const Sides& totals() const { return totals_; }

  // Of members as they come, whatever their stratum.
  Shares compare_all(const Sides& having) const;
  // Among their like: strata that only one side has say nothing.
  Shares compare_alike(std::span<const StratumSides> having) const;

 private:
  struct Weights {
    double selected = 0;  // in strata that both have
    double others = 0;    // what these are worth
  };
  const Weights& weights() const;

  std::unordered_map<std::string, uint32_t> places_;
  std::vector<Sides> sides_;  // by stratum
  Sides totals_;
  mutable Weights weights_;
  mutable uint64_t weighed_ = 0;  // members that weights_ are of
};

}  // namespace fathom::query
