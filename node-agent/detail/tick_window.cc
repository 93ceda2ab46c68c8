#include "node-agent/detail/tick_window.h"

#include <algorithm>

namespace fathom::agent {

namespace {

// Of conversions there and back.
constexpr uint64_t kRoundingTicks = 16;

}  // namespace

TickWindow tick_window(const TickTimes& times, pool::Clock clock, uint64_t begin_nano, uint64_t end_nano,
                       uint64_t now_nano) {
  TickWindow window{.now_ticks = times.ticks_at(clock, now_nano)};
  if (clock == pool::Clock::kTsc && times.crosses_jump(begin_nano, end_nano)) return window;
  uint64_t begin_ticks = times.ticks_at(clock, begin_nano), end_ticks = times.ticks_at(clock, end_nano);
  window.begin_ticks = begin_ticks - std::min(begin_ticks, kRoundingTicks);
  window.end_ticks = end_ticks + std::min(UINT64_MAX - end_ticks, kRoundingTicks);
  return window;
}

}  // namespace fathom::agent
