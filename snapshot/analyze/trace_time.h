// TraceTime: ticks of the time-stamp counter as what a person reads: nanoseconds where the snapshot knows how, else
// ticks.
//
// Purpose: the recorder's conversion where there is one; else the counter's nominal frequency, which follows from CPUID
// leaf 0x15 and the processor's ratio, as whoever imports a raw stream gives them. Thread safety: a plain value. Units:
// as unit() says. Errors: none. Source: Intel SDM, "Time-Stamp Counter" and the table of nominal core crystal clocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

// Of the time-stamp counter; 0: not known.
uint64_t nominal_tsc_hz(const Timing& timing, const Cpu& cpu);

class TraceTime {
 public:
  explicit TraceTime(const Timing& timing, const Cpu& cpu = {});
  explicit TraceTime(const Snapshot& snapshot) : TraceTime(snapshot.timing, snapshot.cpu) {}

  bool is_nano() const { return mult_ != 0; }
  // Of the counter, where nanoseconds rest on nothing better; 0: they do not.
  uint64_t nominal_hz() const { return nominal_hz_; }
  std::string_view unit() const { return is_nano() ? "ns" : "ticks"; }
  // Of a difference between two values of the counter.
  uint64_t duration(uint64_t ticks) const;
  // "1.24 us", "312 ticks"; of what duration() returned.
  std::string text(uint64_t duration) const;
  // The same of what ran: "too short" where no time tells its beginning and its end apart.
  std::string took_text(uint64_t duration) const { return duration == 0 ? "too short" : text(duration); }

 private:
  uint64_t nominal_hz_ = 0;
  uint32_t mult_;
  uint16_t shift_;
};

}  // namespace fathom::snapshot
