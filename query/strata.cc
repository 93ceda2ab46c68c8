#include "query/strata.h"

#include <cmath>

namespace fathom::query {

namespace {

// One of the two terms of G^2, which is 0 where nothing was counted.
double term(double count, double expected) {
  return count > 0 ? count * std::log(count / expected) : 0;
}

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace

double surprise(double a, double a_total, double b, double b_total) {
  if (a_total <= 0 || b_total <= 0) return 0;
  double have = (a + b) / (a_total + b_total);
  auto of = [](double count, double whole, double expected_share) {
    return term(count, whole * expected_share) + term(whole - count, whole * (1 - expected_share));
  };
  double measure = 2 * (of(a, a_total, have) + of(b, b_total, have));
  return share(a, a_total) > share(b, b_total) ? measure : -measure;
}

uint32_t Strata::add(std::string_view name, bool is_selected) {
  auto [place, is_new] = places_.try_emplace(std::string(name), static_cast<uint32_t>(sides_.size()));
  if (is_new) sides_.emplace_back();
  sides_[place->second].add(is_selected);
  totals_.add(is_selected);
  return place->second;
}

Shares Strata::compare_all(const Sides& having) const {
  auto [a, b] = having;
  auto a_total = static_cast<double>(totals_.selected), b_total = static_cast<double>(totals_.others);
  auto a_part = static_cast<double>(a), b_part = static_cast<double>(b);
  return {share(a_part, a_total), share(b_part, b_total), surprise(a_part, a_total, b_part, b_total)};
}

const Strata::Weights& Strata::weights() const {
  uint64_t members = totals_.selected + totals_.others;
  if (weighed_ == members) return weights_;
  double selected = 0, variance = 0;
  for (const Sides& sides : sides_) {
    if (sides.others == 0) continue;
    auto weight = static_cast<double>(sides.selected);
    selected += weight;
    variance += weight * weight / static_cast<double>(sides.others);
  }
  weights_ = {.selected = selected, .others = variance > 0 ? selected * selected / variance : 0};
  weighed_ = members;
  return weights_;
}

Shares Strata::compare_alike(std::span<const StratumSides> having) const {
  auto [selected, others] = weights();
  double selected_part = 0, others_part = 0;
  for (const StratumSides& one : having) {
    const Sides& all = sides_[one.stratum];
    if (all.others == 0) continue;
    selected_part += static_cast<double>(one.sides.selected);
    others_part += static_cast<double>(all.selected) *
                   share(static_cast<double>(one.sides.others), static_cast<double>(all.others));
  }
  Shares shares{share(selected_part, selected), share(others_part, selected), 0};
  shares.surprise = surprise(selected_part, selected, shares.others * others, others);
  return shares;
}

}  // namespace fathom::query
