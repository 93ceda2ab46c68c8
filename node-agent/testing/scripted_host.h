// ScriptedHost: a host whose clocks do what a test says.
#pragma once

#include <cstdint>

#include "node-agent/clock/clock_source.h"
#include "node-agent/clock/tick_clock.h"
#include "node-agent/testing/nano.h"

namespace fathom::agent::testing {

class ScriptedHost : public ClockSource {
 public:
  ClockReading read() override { return {ticks(), monotonic_, boot_, real_}; }

  void pass(uint64_t nano) {
    monotonic_ += nano;
    boot_ += nano;
    real_ += nano;
    exact_ticks_ += static_cast<long double>(nano) * ghz;
  }
  // `counts`: whether the counter goes on while the host sleeps.
  void sleep(uint64_t nano, bool counts) {
    boot_ += nano;
    real_ += nano;
    if (counts) exact_ticks_ += static_cast<long double>(nano) * ghz;
  }
  void step(int64_t nano) { real_ += static_cast<uint64_t>(nano); }
  void reset_counter(uint64_t to) { exact_ticks_ = to; }

  uint64_t ticks() const { return static_cast<uint64_t>(exact_ticks_); }
  uint64_t real() const { return real_; }
  uint64_t monotonic() const { return monotonic_; }

  long double ghz = 2.3L;

 private:
  long double exact_ticks_ = 5e12L;
  uint64_t monotonic_ = 1000 * kSecond;
  uint64_t boot_ = 1500 * kSecond;
  uint64_t real_ = 1'800'000'000 * kSecond;
};

// Lets time pass as the agent's loop does.
inline void run(ScriptedHost& host, TickClock& clock, uint64_t nano) {
  for (uint64_t passed = 0; passed < nano; passed += 50 * kMilli) {
    host.pass(50 * kMilli);
    clock.update();
  }
}

}  // namespace fathom::agent::testing
