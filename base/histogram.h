// A latency histogram with fixed logarithmic buckets: every quantile within 1 % (or 1 ns) of a recorded value.
//
// Purpose: small, mergeable, exact in its counts; the same buckets everywhere, so that histograms of minutes,
// operations and nodes add up. Bucket 0 holds zero; bucket i > 0 holds durations in (g^(i-1), g^i] nanoseconds with
// g = 1.02, and bucket 1 also 1 ns (docs/formats/index.md has the exact bounds).
// Source of the idea: DDSketch (Masson, Rim, Lee, VLDB 2019). Thread safety: a plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fathom {

class Histogram {
 public:
  static uint32_t bucket_of(uint64_t duration_nano);
  static uint64_t bucket_low_nano(uint32_t bucket);   // exclusive, but for bucket 0
  static uint64_t bucket_high_nano(uint32_t bucket);  // inclusive
  // What stands for the durations of a bucket: within 1 %, or a nanosecond, of each.
  static uint64_t bucket_middle_nano(uint32_t bucket);

  void record(uint64_t duration_nano, uint64_t count = 1);
  void merge(const Histogram& other);

  uint64_t count() const { return count_; }
  uint64_t max_nano() const { return max_nano_; }  // exact
  bool empty() const { return count_ == 0; }
  // The value below which the fraction `q` (0 to 1) of the recorded durations lies, within 1 %; 0 when empty.
  uint64_t quantile_nano(double q) const;
  // (bucket, count), ascending, no zero counts.
  const std::vector<std::pair<uint32_t, uint64_t>>& buckets() const { return buckets_; }

  void encode(std::string& out) const;  // docs/formats/index.md
  // Takes one encoded histogram off the front of `in`.
  static Result<Histogram> decode(std::string_view& in);

  bool operator==(const Histogram&) const = default;

 private:
  std::vector<std::pair<uint32_t, uint64_t>> buckets_;
  uint64_t count_ = 0;
  uint64_t max_nano_ = 0;
};

}  // namespace fathom
