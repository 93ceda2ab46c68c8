// The core crystal clock, and how the time-stamp counter follows from it.
//
// Purpose: MTC packets count the crystal, so who knows the counter's ratio to it has times from them. CPUID leaf 0x15
// says it; where nobody kept that, it follows from the processor's nominal ratio and the crystal of its model. Thread
// safety: pure functions. Errors: none. Source: Intel SDM, "Time-Stamp Counter" and the table of nominal core crystal
// clocks.
#pragma once

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

inline constexpr double kBusHz = 100e6;  // what a nominal ratio counts

// Of processors whose CPUID does not say it; 0: not known.
double crystal_hz(const Cpu& cpu);

// `timing`, with the ratio of counter and crystal where it can be known.
Timing with_crystal_ratio(Timing timing, const Cpu& cpu);

// Whether MTC packets tell a time.
inline bool has_crystal_ratio(const Timing& timing) {
  return timing.cpuid_0x15_eax != 0 && timing.cpuid_0x15_ebx != 0;
}

}  // namespace fathom::snapshot
