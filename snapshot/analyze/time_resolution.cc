#include "snapshot/analyze/time_resolution.h"

#include <algorithm>

namespace fathom::snapshot {
namespace {

constexpr double kFinest = 14.0 * 78;
constexpr double kCoarsest = 910'500.0 * 2'500'000;
constexpr double kNormal = 100;

}  // namespace

void TimeResolution::run(uint64_t tsc, uint64_t count) {
  if (last_tsc_ != 0 && tsc > last_tsc_) {
    ticks_.record(tsc - last_tsc_);
    instructions_.record(since_);
  }
  if (last_tsc_ == 0 || tsc > last_tsc_) since_ = 0;
  last_tsc_ = std::max(last_tsc_, tsc);
  since_ += count;
}

void TimeResolution::skip(uint64_t from_tsc, uint64_t to_tsc) {
  if (last_tsc_ != 0 && from_tsc >= last_tsc_ && to_tsc > from_tsc) last_tsc_ += to_tsc - from_tsc;
}

void TimeResolution::merge(const TimeResolution& other) {
  ticks_.merge(other.ticks_);
  instructions_.merge(other.instructions_);
}

double TimeResolution::factor(uint64_t median_nano, uint64_t median_instructions) {
  const double p = static_cast<double>(median_nano) * static_cast<double>(median_instructions);
  return std::clamp(kNormal / (kCoarsest - kFinest) * (p - kFinest), 0.0, kNormal);
}

}  // namespace fathom::snapshot
