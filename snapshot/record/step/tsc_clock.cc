#include "snapshot/record/step/tsc_clock.h"

#include <algorithm>
#include <cmath>

#include "base/time.h"

namespace fathom::snapshot::step {
namespace {

constexpr uint64_t kFirstLookNano = 2'000'000;
constexpr uint64_t kLongEnoughNano = 20'000'000;
constexpr int kClockTries = 8;
constexpr uint16_t kShift = 31;

}  // namespace

// Of several tries the one that nothing came between.
TscClock::Point TscClock::now() {
  Point best{};
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < kClockTries; i++) {
    const uint64_t before = read_tsc();
    const uint64_t nano = now_monotonic_nano();
    const uint64_t took = read_tsc() - before;
    if (took >= least) continue;
    least = took;
    best = {before + took / 2, nano};
  }
  return best;
}

double TscClock::ticks_per_nano_between(const Point& from, const Point& to) {
  return static_cast<double>(to.tsc - from.tsc) / static_cast<double>(std::max<uint64_t>(to.nano - from.nano, 1));
}

TscClock::TscClock() : begin_(now()) {
  while (now_monotonic_nano() - begin_.nano < kFirstLookNano) {
  }
  ticks_per_nano_ = std::max(ticks_per_nano_between(begin_, now()), 1e-3);
}

uint8_t TscClock::ratio() const {
  return static_cast<uint8_t>(std::clamp(std::lround(ticks_per_nano_ * 10), 1L, 255L));
}

Timing TscClock::timing() const {
  const Point end = now();
  const bool long_enough = end.nano - begin_.nano >= kLongEnoughNano;
  const double ticks = long_enough ? ticks_per_nano_between(begin_, end) : ticks_per_nano_;
  Timing timing;
  timing.nom_freq = ratio();
  timing.conversion_shift = kShift;
  timing.conversion_mult = static_cast<uint32_t>(std::min(std::ldexp(1 / ticks, kShift), 4294967295.0));
  const auto since_zero = static_cast<unsigned __int128>(begin_.tsc) * timing.conversion_mult >> kShift;
  timing.conversion_zero_nano = begin_.nano - static_cast<uint64_t>(since_zero);
  return timing;
}

}  // namespace fathom::snapshot::step
