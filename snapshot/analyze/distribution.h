// Distribution: many numbers, small: quantiles within 1 %, and a histogram that a person reads.
//
// Thread safety: a plain value. Units: the caller's. Errors: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "net/json_writer.h"
#include "snapshot/analyze/svg.h"

namespace fathom::snapshot {

class Distribution {
 public:
  void record(uint64_t value);
  void merge(const Distribution& other);

  uint64_t count() const { return histogram_.count(); }
  uint64_t min() const { return count() == 0 ? 0 : min_; }
  uint64_t max() const { return histogram_.max_nano(); }
  uint64_t sum() const { return sum_; }
  uint64_t quantile(double q) const;

  // Bars with round bounds, as many as fit a screen, from the least value to the greatest. A value lies in
  // [low, high).
  struct Bar {
    uint64_t low = 0;
    uint64_t high = 0;
    uint64_t count = 0;
  };
  std::vector<Bar> bars() const;
  const Histogram& histogram() const { return histogram_; }

 private:
  Histogram histogram_;
  uint64_t min_ = UINT64_MAX;
  uint64_t sum_ = 0;  // stops at the top
};

using NumberText = std::function<std::string(uint64_t)>;

// "count 12  min 3 ns  p50 ...", then a line for each bar.
std::string distribution_text(const Distribution& distribution, const NumberText& text);
// An object: count, min, p50, p90, p99, max, sum, bars: [{low, high, count}].
void distribution_json(net::JsonWriter& json, const Distribution& distribution);
// A panel of a picture.
void draw_distribution(Svg& svg, double x, double y, double width, double height, const Distribution& distribution,
                       std::string_view title, const NumberText& text);

}  // namespace fathom::snapshot
