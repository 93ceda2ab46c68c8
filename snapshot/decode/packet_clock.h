// PacketClock: the time that timing packets tell, kept small enough to be told again.
//
// Purpose: libipt keeps its clock to itself, so who makes it begin in the midst of a stream must say what the packets
// before said: a TSC, a TMA, a CBR and the cycles since. Thread safety: plain value. Units: ticks of the time-stamp
// counter. Errors: none; damaged packets tell a damaged time. Source of the idea: Intel's manual, chapter 33 (tracking
// time).
#pragma once

#include <intel-pt.h>

#include <cstdint>

namespace fathom::snapshot {

class PacketClock {
 public:
  explicit PacketClock(const pt_config& config);

  void take(const pt_packet& packet);

  // What a PSB+ says here; valid as far as known. `crystal`: of the moment `tsc`.
  bool known() const { return known_; }
  uint64_t tsc() const { return tsc_; }
  bool crystal_known() const { return crystal_known_; }
  uint16_t crystal() const { return static_cast<uint16_t>(crystal_); }
  uint16_t fast() const { return fast_; }
  uint8_t ratio() const { return ratio_; }
  // Core cycles since `tsc`.
  uint64_t cycles() const { return cycles_; }

 private:
  void take_mtc(uint8_t ticks);

  uint8_t mtc_freq_;
  uint32_t numerator_;  // ticks of the counter for `denominator_` of the crystal
  uint32_t denominator_;
  bool known_ = false;
  bool crystal_known_ = false;
  uint64_t tsc_ = 0;
  uint64_t crystal_ = 0;
  uint16_t fast_ = 0;
  uint8_t ratio_ = 0;
  uint64_t cycles_ = 0;
};

}  // namespace fathom::snapshot
