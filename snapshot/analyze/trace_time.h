// TraceTime: ticks of the time-stamp counter as what a person reads: nanoseconds where the snapshot knows how, else
// ticks.
//
// Thread safety: a plain value. Units: as unit() says. Errors: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

class TraceTime {
 public:
  explicit TraceTime(const Timing& timing) : mult_(timing.conversion_mult), shift_(timing.conversion_shift) {}

  bool is_nano() const { return mult_ != 0; }
  std::string_view unit() const { return is_nano() ? "ns" : "ticks"; }
  // Of a difference between two values of the counter.
  uint64_t duration(uint64_t ticks) const;
  // "1.24 us", "312 ticks"; of what duration() returned.
  std::string text(uint64_t duration) const;

 private:
  uint32_t mult_;
  uint16_t shift_;
};

}  // namespace fathom::snapshot
