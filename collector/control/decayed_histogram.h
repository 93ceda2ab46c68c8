// DecayedHistogram: how long something took lately: the buckets of base/histogram.h, whose counts fade.
//
// Purpose: quantiles within 1 % (or 1 us) over what the last minutes were like, in a few hundred bytes. Durations below
// 1 us count as 1 us, those beyond a day as a day: 5 KiB are the most. Thread safety: a plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fathom::collector {

class DecayedHistogram {
 public:
  // The bucket for add(): one of store::Histogram's, within the range that is kept.
  static uint32_t bucket_of(uint64_t duration_nano);

  void add(uint32_t bucket, float weight = 1);
  // Everything so far weighs `factor` (0 to 1) times as much; what weighs next to nothing then is forgotten.
  void decay(double factor);

  double weight() const { return weight_; }  // 1 for each span of just now, less for older ones
  // The duration at or below which the fraction `q` of the weight lies; 0 when empty.
  uint64_t quantile_nano(double q) const;
  size_t memory_bytes() const { return weights_.capacity() * sizeof(float); }

 private:
  void cover(uint32_t bucket);
  void trim();

  uint32_t first_ = 0;          // the bucket of weights_[0]
  std::vector<float> weights_;  // without gaps
  double weight_ = 0;
};

}  // namespace fathom::collector
