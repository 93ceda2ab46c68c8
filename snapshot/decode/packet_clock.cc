#include "snapshot/decode/packet_clock.h"

#include <utility>

namespace fathom::snapshot {
namespace {

// A TMA has 16 bits of the crystal's count; of what an MTC says beyond, nobody knows the beginning.
constexpr uint8_t kMostKnownShift = 8;

}  // namespace

PacketClock::PacketClock(const pt_config& config)
    : mtc_freq_(config.mtc_freq), numerator_(config.cpuid_0x15_ebx), denominator_(config.cpuid_0x15_eax) {}

void PacketClock::take(const pt_packet& packet) {
  switch (packet.type) {
    case ppt_tsc:
      known_ = true;
      tsc_ = packet.payload.tsc.tsc;
      crystal_known_ = false;
      cycles_ = 0;
      return;
    case ppt_tma:
      crystal_known_ = true;
      crystal_ = packet.payload.tma.ctc;
      fast_ = packet.payload.tma.fc;
      return;
    case ppt_mtc:
      return take_mtc(packet.payload.mtc.ctc);
    case ppt_cbr:
      ratio_ = packet.payload.cbr.ratio;
      return;
    case ppt_cyc:
      cycles_ += packet.payload.cyc.value;
      return;
    default:
      return;
  }
}

// The packet has eight bits of the crystal's count, from bit mtc_freq on. The counter's moment moves to where that
// count began; what was known of the crystal lay `fast_` ticks before the counter's.
void PacketClock::take_mtc(uint8_t ticks) {
  if (!crystal_known_ || denominator_ == 0 || mtc_freq_ > kMostKnownShift) return;
  const uint64_t told = uint64_t{ticks} << mtc_freq_;
  const uint64_t span = uint64_t{0x100} << mtc_freq_;
  const uint64_t passed = (told - (crystal_ >> mtc_freq_ << mtc_freq_)) & (span - 1);
  const uint64_t next = (crystal_ >> mtc_freq_ << mtc_freq_) + passed;
  tsc_ += (next - crystal_) * numerator_ / denominator_ - std::exchange(fast_, uint16_t{0});
  crystal_ = next;
  cycles_ = 0;
}

}  // namespace fathom::snapshot
