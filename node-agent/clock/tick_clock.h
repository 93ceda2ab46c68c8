// TickClock: TickTimes that are kept up to date from a source of readings.
//
// Purpose: the agent's one log of (counter, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME): a reading a second, and
// always the newest. Thread safety: none, belongs to the agent's loop; times() is there to be copied for other threads.
#pragma once

#include "node-agent/clock/clock_source.h"
#include "node-agent/clock/tick_times.h"

namespace fathom::agent {

class TickClock {
 public:
  explicit TickClock(ClockSource& source) : source_(source), times_(source.read()) {}

  // Takes a reading. Once before each round of conversions: no tick is then far from a reading.
  void update() { times_.update(source_.read()); }
  bool ready() const { return times_.ready(); }

  uint64_t monotonic_nano(pool::Clock clock, uint64_t ticks) { return times_.monotonic_nano(clock, ticks); }
  uint64_t unix_nano(pool::Clock clock, uint64_t ticks) { return times_.unix_nano(clock, ticks); }
  // In the same terms as the instants above: what it says at a later step is not this.
  uint64_t now_unix_nano() { return unix_nano(pool::Clock::kMonotonic, source_.read().monotonic_nano); }
  size_t readings() const { return times_.readings(); }
  const TickTimes& times() const { return times_; }

 private:
  ClockSource& source_;
  TickTimes times_;
};

}  // namespace fathom::agent
