#include "snapshot/decode/tip_order.h"

#include "snapshot/decode/packet_walk.h"

namespace fathom::snapshot {
namespace {

constexpr uint8_t kFullTntBits = 6;
// So many, or the segment is too short to tell. Of a processor that sends at once about every sixth TNT is full.
constexpr uint64_t kFewest = 16;
constexpr uint64_t kPartialForOneFull = 2;

class TipOrderTally {
 public:
  void take(const pt_packet& packet) {
    switch (packet.type) {
      case ppt_pad:
      case ppt_cyc:  // tells the time of the packet behind it
        return;
      case ppt_tnt_8:
      case ppt_tnt_64:
        take_tnt();
        tnt_ = partial_tnt(packet) ? Tnt::kPartial : Tnt::kFull;
        tips_ = 0;
        return;
      case ppt_tip:
        ++tips_;
        return;
      default:
        tnt_ = Tnt::kNone;
    }
  }
  bool tips_send_bits() const { return early_ == 0 && partial_ >= kFewest && partial_ >= kPartialForOneFull * full_; }

 private:
  enum class Tnt : uint8_t { kNone, kPartial, kFull };

  // The next one, with `tips_` between.
  void take_tnt() {
    if (tnt_ == Tnt::kPartial) (tips_ == 0 ? early_ : partial_) += tips_ < 2 ? 1 : 0;
    if (tnt_ == Tnt::kFull && tips_ == 1) ++full_;
  }

  Tnt tnt_ = Tnt::kNone;
  uint64_t tips_ = 0;
  uint64_t early_ = 0;
  uint64_t partial_ = 0;
  uint64_t full_ = 0;
};

}  // namespace

// The long form's size is not known, so none of them is known to be partial.
bool partial_tnt(const pt_packet& packet) {
  return packet.type == ppt_tnt_8 && packet.payload.tnt.bit_size < kFullTntBits;
}

bool tips_send_bits(const pt_config& config, std::span<const uint8_t> segment) {
  TipOrderTally tally;
  PacketWalk walk(config, segment);
  pt_packet packet;
  while (walk.next(packet)) tally.take(packet);
  return tally.tips_send_bits();
}

}  // namespace fathom::snapshot
