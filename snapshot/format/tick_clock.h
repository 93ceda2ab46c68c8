// TickClock: ticks of the time-stamp counter as nanoseconds, where the snapshot knows how (Timing::conversion_*).
//
// Thread safety: a plain value. Units: instants are of CLOCK_MONOTONIC. Where the conversion is not known, ticks stay
// ticks, and unit() says so.
#pragma once

#include <cstdint>
#include <string_view>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

class TickClock {
 public:
  explicit TickClock(const Timing& timing)
      : zero_(timing.conversion_zero_nano), mult_(timing.conversion_mult), shift_(timing.conversion_shift) {}

  bool known() const { return mult_ != 0 && shift_ < 64; }
  std::string_view unit() const { return known() ? "ns" : "ticks"; }
  uint64_t duration(uint64_t ticks) const {
    return known() ? static_cast<uint64_t>(static_cast<unsigned __int128>(ticks) * mult_ >> shift_) : ticks;
  }
  uint64_t instant(uint64_t tsc) const { return known() ? zero_ + duration(tsc) : tsc; }

 private:
  uint64_t zero_;
  uint32_t mult_;
  uint16_t shift_;
};

}  // namespace fathom::snapshot
