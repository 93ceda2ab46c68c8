// ClockReading: the clocks of the host at one moment, and the boot that they belong to.
//
// Purpose: the input of AgeTime. Tests replace it by a script. Thread safety: read_clocks() from any thread. Errors:
// none; a boot id that cannot be read is empty, and an empty id never equals another boot's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace fathom::store {

struct ClockReading {
  std::string boot_id;          // of the kernel; another one after every boot of the host
  uint64_t boottime_nano = 0;   // CLOCK_BOOTTIME: no one can set it, and it counts while the host is suspended
  uint64_t wall_unix_nano = 0;  // CLOCK_REALTIME: can be wrong and can be stepped
};

using ReadClocks = std::function<ClockReading()>;

ClockReading read_clocks();

}  // namespace fathom::store
