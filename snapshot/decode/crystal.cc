#include "snapshot/decode/crystal.h"

#include <cmath>

namespace fathom::snapshot {

double crystal_hz(const Cpu& cpu) {
  if (!cpu.intel || cpu.family != 6) return 0;
  switch (cpu.model) {
    case 0x4e:
    case 0x5e:
    case 0x8e:
    case 0x9e:
      return 24e6;
    case 0x55:
    case 0x5f:
      return 25e6;
    case 0x5c:
    case 0x7a:
      return 19.2e6;
    default:
      return 0;
  }
}

// Processors give it in halves. Of Skylake-X there are ones with a crystal of 24 MHz beside those of 25: that is enough
// for a nominal frequency, and too far off for the time from one MTC to the next.
Timing with_crystal_ratio(Timing timing, const Cpu& cpu) {
  constexpr uint8_t kSkylakeX = 0x55;
  const double crystal = cpu.model == kSkylakeX ? 0 : crystal_hz(cpu);
  if (has_crystal_ratio(timing) || crystal == 0 || timing.nom_freq == 0) return timing;
  constexpr uint32_t kHalves = 2;
  timing.cpuid_0x15_eax = kHalves;
  timing.cpuid_0x15_ebx = static_cast<uint32_t>(std::lround(kHalves * kBusHz * timing.nom_freq / crystal));
  return timing;
}

}  // namespace fathom::snapshot
