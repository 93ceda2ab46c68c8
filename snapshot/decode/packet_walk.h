// PacketWalk: the packets of some bytes, one by one, by libipt's packet decoder.
//
// Thread safety: none. Ownership: refers to the bytes, and only reads them. Errors: it ends at bytes that are no
// packet.
#pragma once

#include <intel-pt.h>

#include <cstdint>
#include <memory>
#include <span>

namespace fathom::snapshot {

class PacketWalk {
 public:
  // `bytes` begin with a packet.
  PacketWalk(pt_config config, std::span<const uint8_t> bytes) {
    config.begin = const_cast<uint8_t*>(bytes.data());  // libipt only reads
    config.end = config.begin + bytes.size();
    decoder_.reset(pt_pkt_alloc_decoder(&config));
    if (decoder_) pt_pkt_sync_set(decoder_.get(), 0);
  }

  bool next(pt_packet& packet) {
    if (!decoder_ || pt_pkt_next(decoder_.get(), &packet, sizeof packet) <= 0) return false;
    offset_ += packet.size;
    return true;
  }
  // The next packet is the one at `offset`.
  void go_to(uint64_t offset) {
    if (decoder_) pt_pkt_sync_set(decoder_.get(), offset);
    offset_ = offset;
  }
  // Behind the last packet.
  uint64_t offset() const { return offset_; }

 private:
  struct Free {
    void operator()(pt_packet_decoder* decoder) const { pt_pkt_free_decoder(decoder); }
  };
  std::unique_ptr<pt_packet_decoder, Free> decoder_;
  uint64_t offset_ = 0;
};

}  // namespace fathom::snapshot
