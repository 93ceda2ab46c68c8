// SteadyClock: a host whose CLOCK_REALTIME is kOffset ahead of its other clocks, which all begin at 0.
#pragma once

#include "node-agent/clock/clock_source.h"

namespace fathom::agent::testing {

class SteadyClock : public ClockSource {
 public:
  static constexpr uint64_t kOffset = 1'800'000'000'000'000'000;

  ClockReading read() override {
    now_nano += 50'000'000;
    return {now_nano * 2, now_nano, now_nano, now_nano + kOffset};
  }
  uint64_t now_nano = 0;
};

}  // namespace fathom::agent::testing
