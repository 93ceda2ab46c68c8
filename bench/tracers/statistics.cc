#include "bench/tracers/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace fathom::bench::tracers {

namespace {

constexpr double kSlowFactor = 1.5;     // over the median,
constexpr double kSlowMoreNano = 20;    // and by more than two steps of a coarse counter
constexpr uint32_t kFewestReturns = 5;  // less is chance,
constexpr uint32_t kLeastShare = 4;     // and so is what is absent from most of the time
constexpr size_t kNeighbours = 8;       // further than the next one: interruptions lie between
constexpr uint32_t kLeastEvents = 50;   // what returns sooner is a cache line or a few, and no buffer

std::vector<uint32_t> places_above(const std::vector<double>& nanos, double limit) {
  std::vector<uint32_t> places;
  for (uint32_t i = 0; i < nanos.size(); ++i) {
    if (nanos[i] > limit) places.push_back(i);
  }
  return places;
}

std::vector<uint32_t> sorted_distances(const std::vector<uint32_t>& places) {
  std::vector<uint32_t> distances;
  for (size_t i = 0; i < places.size(); ++i) {
    for (size_t next = i + 1; next < places.size() && next <= i + kNeighbours; ++next)
      distances.push_back(places[next] - places[i]);
  }
  std::sort(distances.begin(), distances.end());
  return distances;
}

struct Distance {
  uint32_t events = 0;
  uint32_t seen = 0;
  double share_of(size_t all) const { return std::min(1.0, 1.0 * events * seen / static_cast<double>(all)); }
  bool is_no_chance(size_t all) const {
    return events > 1 && seen >= kFewestReturns && share_of(all) * kLeastShare >= 1;
  }
};

// The least one that returns all along: its multiples do so, too.
Distance returning_distance(const std::vector<uint32_t>& places, size_t all) {
  const std::vector<uint32_t> distances = sorted_distances(places);
  for (auto at = distances.begin(); at != distances.end();) {
    const auto end = std::upper_bound(at, distances.end(), *at);
    const Distance distance{*at, static_cast<uint32_t>(end - at)};
    if (distance.is_no_chance(all)) return distance;
    at = end;
  }
  return {};
}

SlowPath slow_path_of(const std::vector<double>& nanos, const std::vector<uint32_t>& places, const Distance& distance) {
  std::vector<double> times;
  for (const uint32_t place : places) {
    if (place >= distance.events && std::binary_search(places.begin(), places.end(), place - distance.events))
      times.push_back(nanos[place]);
  }
  return {distance.events, median_of(times), static_cast<uint32_t>(times.size())};
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

// How much longer a slow path takes is not known, so limits are tried, each twice the one before. The one counts whose
// distance explains most, of the time and of the events beyond the limit.
std::optional<SlowPath> find_slow_path(const std::vector<double>& nanos) {
  const double median = median_of(nanos);
  std::optional<SlowPath> best;
  double explained = 0;
  for (double over = std::max(median * (kSlowFactor - 1), kSlowMoreNano);; over *= 2) {
    const std::vector<uint32_t> places = places_above(nanos, median + over);
    if (places.size() <= kFewestReturns) return best;
    if (places.size() > nanos.size() / kNeighbours) continue;  // their neighbours are nearer than any buffer's end
    const Distance distance = returning_distance(places, nanos.size());
    const double explains = distance.share_of(nanos.size()) * distance.seen / static_cast<double>(places.size());
    if (distance.events < kLeastEvents || explains <= explained) continue;
    explained = explains;
    best = slow_path_of(nanos, places, distance);
  }
}

}  // namespace fathom::bench::tracers
