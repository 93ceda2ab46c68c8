// ClockSource: all clocks of this host at one instant, as far as reading one after the other can be one instant.
//
// Purpose: the seam at which tests script time. Thread safety: of the implementation; HostClock's all of it. Errors:
// none; a host without a counter that programs may read has ticks of 0, and its programs then use CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

namespace fathom::agent {

struct ClockReading {
  uint64_t ticks = 0;           // the processor's invariant counter
  uint64_t monotonic_nano = 0;  // CLOCK_MONOTONIC: stands still while the host sleeps
  uint64_t boot_nano = 0;       // CLOCK_BOOTTIME: does not
  uint64_t real_nano = 0;       // CLOCK_REALTIME: may step
};

class ClockSource {
 public:
  virtual ~ClockSource() = default;
  virtual ClockReading read() = 0;
};

class HostClock : public ClockSource {
 public:
  ClockReading read() override;
};

}  // namespace fathom::agent
