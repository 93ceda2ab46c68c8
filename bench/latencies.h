// A sample of latencies, kept whole, so that percentiles are exact. Thread safety: one thread. Units: nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fathom::bench {

class Latencies {
 public:
  void record(uint64_t nano) { nanos_.push_back(nano); }
  size_t count() const { return nanos_.size(); }
  // Nearest rank: the smallest sample that at least the fraction `q` does not exceed; 0 when there is none.
  double quantile_ms(double q) const {
    if (nanos_.empty()) return 0;
    std::vector<uint64_t> sorted = nanos_;
    size_t rank = static_cast<size_t>(q * static_cast<double>(sorted.size()) + 0.999999);
    auto at = sorted.begin() + static_cast<long>(std::clamp<size_t>(rank, 1, sorted.size()) - 1);
    std::nth_element(sorted.begin(), at, sorted.end());
    return static_cast<double>(*at) / 1e6;
  }
  double p50_ms() const { return quantile_ms(0.50); }
  double p99_ms() const { return quantile_ms(0.99); }
  double max_ms() const { return quantile_ms(1.0); }

 private:
  std::vector<uint64_t> nanos_;
};

}  // namespace fathom::bench
