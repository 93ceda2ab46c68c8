// SharedTimes: the clock's log for those threads that make captures.
//
// Purpose: the loop's own clock belongs to it. Thread safety: all of it; held for as long as a reading or a copy takes.
#pragma once

#include <mutex>

#include "node-agent/clock/tick_clock.h"
#include "node-agent/detail/tick_window.h"

namespace fathom::agent {

class SharedTimes {
 public:
  explicit SharedTimes(ClockSource& source) : clock_(source) {}

  // Once a second at least, so that no jump of a clock is missed.
  void update() {
    std::lock_guard lock(mutex_);
    clock_.update();
  }
  TickTimes copy() {
    std::lock_guard lock(mutex_);
    clock_.update();
    return clock_.times();
  }
  TickWindow window(pool::Clock clock, uint64_t begin_nano, uint64_t end_nano, uint64_t now_nano) {
    std::lock_guard lock(mutex_);
    clock_.update();
    return tick_window(clock_.times(), clock, begin_nano, end_nano, now_nano);
  }

 private:
  std::mutex mutex_;
  TickClock clock_;
};

}  // namespace fathom::agent
