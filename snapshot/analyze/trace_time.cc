#include "snapshot/analyze/trace_time.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/time.h"
#include "snapshot/decode/crystal.h"

namespace fathom::snapshot {
namespace {

constexpr double kCrystals[] = {24e6, 25e6, 19.2e6, 38.4e6};
// How far the product with the crystal's may be from the processor's own ratio, which is rounded to whole bus clocks.
constexpr double kTolerance = 0.02;
constexpr double kSlowest = 1e6, kFastest = 1e11;

double nominal_hz_of(const Timing& timing, const Cpu& cpu) {
  const double own = kBusHz * timing.nom_freq;
  if (timing.cpuid_0x15_eax == 0 || timing.cpuid_0x15_ebx == 0) return own;
  const double ratio = static_cast<double>(timing.cpuid_0x15_ebx) / timing.cpuid_0x15_eax;
  if (own == 0) return ratio * crystal_hz(cpu);
  const auto distance = [&](double crystal) { return std::abs(ratio * crystal - own); };
  const double crystal = *std::ranges::min_element(kCrystals, {}, distance);
  return distance(crystal) <= kTolerance * own ? ratio * crystal : own;
}

}  // namespace

uint64_t nominal_tsc_hz(const Timing& timing, const Cpu& cpu) {
  const double hz = nominal_hz_of(timing, cpu);
  return hz >= kSlowest && hz <= kFastest ? static_cast<uint64_t>(std::llround(hz)) : 0;
}

TraceTime::TraceTime(const Timing& timing, const Cpu& cpu)
    : mult_(timing.conversion_mult), shift_(timing.conversion_shift) {
  if (mult_ != 0) return;
  nominal_hz_ = nominal_tsc_hz(timing, cpu);
  if (nominal_hz_ == 0) return;
  constexpr uint64_t kNanos = 1'000'000'000;
  for (shift_ = 31; (kNanos << shift_) / nominal_hz_ > UINT32_MAX;) --shift_;
  mult_ = static_cast<uint32_t>((kNanos << shift_) / nominal_hz_);
}

uint64_t TraceTime::duration(uint64_t ticks) const {
  if (!is_nano()) return ticks;
  const unsigned __int128 nano = static_cast<unsigned __int128>(ticks) * mult_ >> std::min<uint16_t>(shift_, 127);
  return nano > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(nano);
}

std::string TraceTime::text(uint64_t duration) const {
  return is_nano() ? format_duration(duration) : group_digits(duration) + " ticks";
}

}  // namespace fathom::snapshot
