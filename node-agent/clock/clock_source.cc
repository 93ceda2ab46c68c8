#include "node-agent/clock/clock_source.h"

#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace fathom::agent {

namespace {

constexpr int kTries = 5;

uint64_t ticks_now() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

uint64_t nano_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// `inner` read between two readings of `outer`, from the try whose readings were nearest: an interrupt in between, or a
// host that took the processor away, spoils a try and not the result.
struct Sandwich {
  uint64_t outer = 0;
  uint64_t inner = 0;
};
template <typename Outer, typename Inner>
Sandwich sandwich(Outer outer, Inner inner) {
  Sandwich best;
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    uint64_t before = outer();
    uint64_t between = inner();
    uint64_t gap = outer() - before;
    if (gap >= least) continue;
    least = gap;
    best = {before + gap / 2, between};
  }
  return best;
}

}  // namespace

ClockReading HostClock::read() {
  auto monotonic = [] { return nano_of(CLOCK_MONOTONIC); };
  Sandwich ticks = sandwich(ticks_now, monotonic);
  Sandwich boot = sandwich(monotonic, [] { return nano_of(CLOCK_BOOTTIME); });
  Sandwich real = sandwich(monotonic, [] { return nano_of(CLOCK_REALTIME); });
  // All brought to the instant of the first: the differences between these clocks are constant over microseconds.
  return {.ticks = ticks.outer,
          .monotonic_nano = ticks.inner,
          .boot_nano = boot.inner - (boot.outer - ticks.inner),
          .real_nano = real.inner - (real.outer - ticks.inner)};
}

}  // namespace fathom::agent
