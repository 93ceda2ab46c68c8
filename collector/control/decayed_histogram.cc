#include "collector/control/decayed_histogram.h"

#include <algorithm>

#include "base/time.h"
#include "store/histogram.h"

namespace fathom::collector {

namespace {

constexpr uint64_t kLeastNano = 1000;
constexpr uint64_t kMostNano = 24 * kNanosPerHour;
// A float counts to 2^24 by ones. Long before, all counts of the histogram are halved, which leaves its shape.
constexpr float kMostWeight = 1 << 23;
constexpr float kNextToNothing = 0.01F;

}  // namespace

uint32_t DecayedHistogram::bucket_of(uint64_t duration_nano) {
  return store::Histogram::bucket_of(std::clamp(duration_nano, kLeastNano, kMostNano));
}

void DecayedHistogram::cover(uint32_t bucket) {
  if (weights_.empty()) first_ = bucket;
  if (bucket < first_) {
    weights_.insert(weights_.begin(), first_ - bucket, 0);
    first_ = bucket;
  }
  if (bucket - first_ >= weights_.size()) weights_.resize(bucket - first_ + 1);
}

void DecayedHistogram::add(uint32_t bucket, float weight) {
  if (bucket < first_ || bucket - first_ >= weights_.size()) cover(bucket);
  float& counted = weights_[bucket - first_];
  counted += weight;
  weight_ += weight;
  if (counted > kMostWeight) decay(0.5);
}

void DecayedHistogram::decay(double factor) {
  weight_ = 0;
  for (float& weight : weights_) {
    weight *= static_cast<float>(factor);
    if (weight < kNextToNothing) weight = 0;
    weight_ += weight;
  }
  trim();
}

void DecayedHistogram::trim() {
  auto counts = [](float weight) { return weight > 0; };
  auto last = std::find_if(weights_.rbegin(), weights_.rend(), counts);
  weights_.erase(last.base(), weights_.end());
  auto first = std::find_if(weights_.begin(), weights_.end(), counts);
  first_ += static_cast<uint32_t>(first - weights_.begin());
  weights_.erase(weights_.begin(), first);
}

uint64_t DecayedHistogram::quantile_nano(double q) const {
  double wanted = q * weight_ * (1 - 1e-6);  // sums of floats are not exact
  double below = 0;
  uint32_t bucket = first_;
  for (size_t i = 0; i < weights_.size() && (below == 0 || below < wanted); ++i) {
    below += weights_[i];
    bucket = first_ + static_cast<uint32_t>(i);
  }
  return weights_.empty() ? 0 : store::Histogram::bucket_middle_nano(bucket);
}

}  // namespace fathom::collector
