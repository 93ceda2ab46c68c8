#include "collector/control/usual_latency.h"

#include <algorithm>
#include <cmath>

namespace fathom::collector {

namespace {

constexpr double kTail = 0.99;
constexpr double kMostTailNano = 86'400e9;  // the longest that DecayedHistogram can represent
// Distance of p99 from p50 in units of the distance of p90: quantiles of the normal distribution.
constexpr double kTailBeyondNinety = 2.3263 / 1.2816;

}  // namespace

void UsualLatency::fade(double kept) {
  if (window_.weight() >= kKnownSpans) end_window();
  const double keeps_enough = kKnownSpans / std::max(lately_.weight(), kKnownSpans);
  if (keeps_enough < 1) lately_.decay(std::max(kept, keeps_enough));
}

void UsualLatency::end_window() {
  const auto median_nano = static_cast<double>(std::max<uint64_t>(window_.quantile_nano(0.5), 1));
  const auto ratio = static_cast<float>(static_cast<double>(window_.quantile_nano(kTail)) / median_nano);
  if (ratios_.size() < kMostWindows) {
    ratios_.push_back(ratio);
  } else {
    ratios_[next_] = ratio;
    next_ = (next_ + 1) % kMostWindows;
  }
  window_ = {};
}

double UsualLatency::usual_ratio() const {
  std::vector<float> sorted = ratios_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

uint64_t UsualLatency::tail_of_young_nano() const {
  const auto median_nano = static_cast<double>(std::max<uint64_t>(lately_.quantile_nano(0.5), 1));
  const double ninety = static_cast<double>(lately_.quantile_nano(0.9)) / median_nano;
  const double law_nano = median_nano * std::pow(ninety, kTailBeyondNinety);
  const auto measured_nano = static_cast<double>(lately_.quantile_nano(kTail));
  return static_cast<uint64_t>(std::min(law_nano, measured_nano));
}

uint64_t UsualLatency::tail_nano() const {
  if (ratios_.size() < kMatureWindows) return tail_of_young_nano();
  const double tail_nano = usual_ratio() * static_cast<double>(lately_.quantile_nano(0.5));
  return static_cast<uint64_t>(std::min(tail_nano, kMostTailNano));
}

}  // namespace fathom::collector
