#include "bench/tracers/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

namespace fathom::bench::tracers {

namespace {

constexpr double kSlowFactor = 1.5;     // over the median,
constexpr double kSlowMoreNano = 20;    // and by more than two steps of a coarse counter
constexpr uint32_t kFewestReturns = 3;  // less is chance,
constexpr uint32_t kLeastShare = 4;     // and so is what is absent from most of the time

std::vector<uint32_t> slow_places(const std::vector<double>& nanos) {
  const double limit = std::max(median_of(nanos) * kSlowFactor, median_of(nanos) + kSlowMoreNano);
  std::vector<uint32_t> places;
  for (uint32_t i = 0; i < nanos.size(); ++i) {
    if (nanos[i] > limit) places.push_back(i);
  }
  return places;
}

struct Gap {
  uint32_t events = 0;
  uint32_t seen = 0;
};

// Of the distances between neighbours, the most frequent one.
Gap dominant_gap(const std::vector<uint32_t>& places) {
  std::map<uint32_t, uint32_t> counts;
  for (size_t i = 1; i < places.size(); ++i) ++counts[places[i] - places[i - 1]];
  Gap best;
  for (auto [events, seen] : counts) {
    if (seen > best.seen) best = {events, seen};
  }
  return best;
}

template <typename Join>
double median_of_pairs(const std::vector<double>& a, const std::vector<double>& b, const Join& join) {
  assert(a.size() == b.size());
  std::vector<double> joined;
  for (size_t i = 0; i < a.size(); ++i) joined.push_back(join(a[i], b[i]));
  return median_of(std::move(joined));
}

}  // namespace

double percentile_of(std::vector<double> values, double percent) {
  if (values.empty()) return 0;
  const double rank = std::ceil(static_cast<double>(values.size()) * percent / 100);
  const auto at = values.begin() + std::max<long>(0, static_cast<long>(rank) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double median_of(std::vector<double> values) {
  return percentile_of(std::move(values), 50);
}

Distribution distribution_of(const std::vector<double>& nanos) {
  if (nanos.empty()) return {};
  const auto count = static_cast<double>(nanos.size());
  double sum = 0, squares = 0;
  for (const double value : nanos) sum += value;
  for (const double value : nanos) squares += (value - sum / count) * (value - sum / count);
  return {sum / count, std::sqrt(squares / count), percentile_of(nanos, 90)};
}

double median_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  return median_of_pairs(a, b, [](double x, double y) { return x / y; });
}

double median_difference(const std::vector<double>& a, const std::vector<double>& b) {
  return median_of_pairs(a, b, [](double x, double y) { return x - y; });
}

std::optional<SlowPath> find_slow_path(const std::vector<double>& nanos) {
  const std::vector<uint32_t> places = slow_places(nanos);
  const Gap gap = dominant_gap(places);
  const bool everywhere = uint64_t{gap.seen} * gap.events * kLeastShare >= nanos.size();
  if (gap.seen < kFewestReturns || gap.events < 2 || !everywhere) return std::nullopt;
  std::vector<double> times;
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i] - places[i - 1] == gap.events) times.push_back(nanos[places[i]]);
  }
  return SlowPath{gap.events, median_of(times), gap.seen};
}

}  // namespace fathom::bench::tracers
