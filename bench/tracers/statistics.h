// What the table says of many events: their distribution, and the slow path that returns at even distances.
//
// Purpose: pure arithmetic over times in nanoseconds. Thread safety: plain functions. Units: nanoseconds; `every` is a
// number of events.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace fathom::bench::tracers {

double median_of(std::vector<double> values);                      // 0 of nothing
double percentile_of(std::vector<double> values, double percent);  // the least that `percent` of them do not exceed

struct Distribution {
  double average = 0;
  double deviation = 0;
  double p90 = 0;
};
Distribution distribution_of(const std::vector<double>& nanos);

// The median over rounds of a[i] / b[i] and of a[i] - b[i]: what the machine did meanwhile fell on both.
double median_ratio(const std::vector<double>& a, const std::vector<double>& b);
double median_difference(const std::vector<double>& a, const std::vector<double>& b);

// Events that take much longer than the median and return after the same number of others: what a tracer does when a
// buffer is full. Interruptions take long too, but return at no distance in particular; they may lie between, so
// `nanos` are all events, none left out. Nothing where the distance varies, or is longer than a sixth of them.
struct SlowPath {
  uint32_t every = 0;
  double median = 0;
  uint32_t seen = 0;
};
std::optional<SlowPath> find_slow_path(const std::vector<double>& nanos);

}  // namespace fathom::bench::tracers
