#include "snapshot/decode/packets.h"

#include <intel-pt.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "snapshot/decode/packet_stream.h"
#include "snapshot/decode/psb.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kCountWindowBytes = 1 << 20;

std::string_view name_of(const pt_packet& packet) {
  switch (packet.type) {
    case ppt_pad:
      return "PAD";
    case ppt_psb:
      return "PSB";
    case ppt_psbend:
      return "PSBEND";
    case ppt_fup:
      return "FUP";
    case ppt_tip:
      return "TIP";
    case ppt_tip_pge:
      return "TIP.PGE";
    case ppt_tip_pgd:
      return "TIP.PGD";
    case ppt_tnt_8:
    case ppt_tnt_64:
      return "TNT";
    case ppt_mode:
      return packet.payload.mode.leaf == pt_mol_exec ? "MODE.Exec" : "MODE.TSX";
    case ppt_pip:
      return "PIP";
    case ppt_vmcs:
      return "VMCS";
    case ppt_cbr:
      return "CBR";
    case ppt_tsc:
      return "TSC";
    case ppt_tma:
      return "TMA";
    case ppt_mtc:
      return "MTC";
    case ppt_cyc:
      return "CYC";
    case ppt_stop:
      return "STOP";
    case ppt_ovf:
      return "OVF";
    case ppt_mnt:
      return "MNT";
    case ppt_exstop:
      return "EXSTOP";
    case ppt_mwait:
      return "MWAIT";
    case ppt_pwre:
      return "PWRE";
    case ppt_pwrx:
      return "PWRX";
    case ppt_ptw:
      return "PTW";
    default:
      return "unknown";
  }
}

// One by type (and leaf, of MODE): names are looked up once, at the end.
class PacketTally {
 public:
  void take(const pt_packet& packet) {
    Kind& kind = kinds_[packet.type * 2 + (packet.type == ppt_mode && packet.payload.mode.leaf == pt_mol_tsx ? 1 : 0)];
    kind.name = kind.count.count == 0 ? name_of(packet) : kind.name;
    ++kind.count.count;
    kind.count.bytes += packet.size;
  }
  void finish(PacketCounts& all) const {
    for (const auto& kind : kinds_) {
      if (kind.count.count == 0) continue;
      all.kinds[kind.name].count += kind.count.count;
      all.kinds[kind.name].bytes += kind.count.bytes;
    }
  }

 private:
  struct Kind {
    std::string_view name;
    PacketCount count;
  };
  Kind kinds_[2 * (ppt_ptw + 1)];
};

struct FreePacketDecoder {
  void operator()(pt_packet_decoder* decoder) const { pt_pkt_free_decoder(decoder); }
};
using PacketDecoder = std::unique_ptr<pt_packet_decoder, FreePacketDecoder>;

PacketDecoder decoder_of(std::span<uint8_t> bytes) {
  pt_config config;
  pt_config_init(&config);
  config.begin = bytes.data();
  config.end = bytes.data() + bytes.size();
  PacketDecoder decoder(pt_pkt_alloc_decoder(&config));
  if (decoder) pt_pkt_sync_set(decoder.get(), 0);
  return decoder;
}

// Packets of one stretch, window by window.
class StretchCounter {
 public:
  StretchCounter(const PacketStream& packets, size_t stretch, uint64_t bytes, PacketTally& tally, PacketCounts& all)
      : packets_(packets), stretch_(stretch), size_(bytes), tally_(tally), all_(all) {}

  Result<> count() {
    while (at_ < size_) {
      window_.resize(std::min(kCountWindowBytes, size_ - at_));
      if (auto got = packets_.read(stretch_, at_, window_); !got) return got;
      at_ += in_step_ ? take_window() : find_step();
    }
    return {};
  }

 private:
  // Both return how many bytes were dealt with; none only where the next window tells more.
  uint64_t find_step() {
    const size_t found = find_psb(window_, 0);
    const bool end = at_ + window_.size() == size_;
    in_step_ = found + (end ? kPsbBytes : kPsbScanBytes) <= window_.size();
    const size_t passed = in_step_ || end ? found : std::min(found, window_.size() - (kPsbScanBytes - 1));
    (seen_ ? all_.bad_bytes : all_.skipped_bytes) += passed;
    seen_ |= in_step_;
    return passed;
  }

  uint64_t take_window() {
    const PacketDecoder decoder = decoder_of(window_);
    uint64_t taken = 0;
    pt_packet packet;
    int size = -pte_nomem;
    while (decoder && (size = pt_pkt_next(decoder.get(), &packet, sizeof packet)) > 0) {
      tally_.take(packet);
      taken += static_cast<uint64_t>(size);
    }
    if (size == -pte_eos && (taken > 0 || at_ + window_.size() < size_)) return end_of_window(taken);
    in_step_ = false;
    all_.bad_bytes += 1;
    return taken + 1;
  }

  // A packet may go on in the next window; none does at the stretch's end.
  uint64_t end_of_window(uint64_t taken) {
    if (at_ + window_.size() < size_) return taken;
    all_.bad_bytes += window_.size() - taken;
    return window_.size();
  }

  const PacketStream& packets_;
  const size_t stretch_;
  const uint64_t size_;
  PacketTally& tally_;
  PacketCounts& all_;
  std::vector<uint8_t> window_;
  uint64_t at_ = 0;
  bool in_step_ = false;
  bool seen_ = false;
};

}  // namespace

Result<PacketCounts> count_packets(const SnapshotFile& file, uint64_t most_bytes) {
  PacketCounts all;
  PacketTally tally;
  for (size_t stream = 0; stream < file.snapshot().streams.size(); ++stream) {
    const PacketStream packets(file, stream);
    for (size_t stretch = 0; stretch < packets.stretches(); ++stretch) {
      const uint64_t bytes = std::min(packets.bytes(stretch), most_bytes);
      all.bytes += bytes;
      if (auto counted = StretchCounter(packets, stretch, bytes, tally, all).count(); !counted) return counted.error();
    }
  }
  tally.finish(all);
  return all;
}

}  // namespace fathom::snapshot
