// PacketWriter: Intel PT packets, one behind the other, as the processor would write them.
//
// Purpose: the layer over libipt's encoder that knows what a packet depends on: bits of branches are gathered and go
// out before whatever must not overtake them, instruction pointers are compressed against the last one, times become
// differences. What a program did is flow_writer.h's to know. Thread safety: none; one owner. Ownership: keeps at most
// 64 KiB; `sink` gets bytes in order, and keeps nothing. Units: times are ticks of the time-stamp counter. A CYC
// packet counts those ticks: the ratio in CBR packets is the one that Snapshot::timing.nom_freq names, so that a
// decoder takes a cycle for a tick. Errors: none; a packet that the encoder refuses is a fault of ours. Source of the
// idea: the chapter on Intel PT in Intel's manual (volume 3).
#pragma once

#include <intel-pt.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace fathom::snapshot::step {

class PacketWriter {
 public:
  using Sink = std::function<void(std::span<const uint8_t>)>;
  // `ratio`: of CBR packets, and Snapshot::timing.nom_freq; not zero.
  PacketWriter(uint8_t ratio, Sink sink);
  ~PacketWriter();
  PacketWriter(const PacketWriter&) = delete;
  PacketWriter& operator=(const PacketWriter&) = delete;

  // PSB, the time, the mode (64 bits); with `ip` when packets are enabled just now. Nothing before it is needed to read
  // what comes behind it.
  void synchronise(uint64_t tsc, const uint64_t* ip);
  void branch(bool taken, uint64_t tsc);                     // a bit of TNT
  void target(uint64_t ip, uint64_t tsc);                    // TIP
  void enable(uint64_t ip, uint64_t tsc);                    // TIP.PGE
  void disable(uint64_t tsc);                                // TIP.PGD without a target
  void disable_at(uint64_t ip, uint64_t tsc);                // FUP, TIP.PGD: not because of an instruction
  void interrupt(uint64_t from, uint64_t to, uint64_t tsc);  // FUP, TIP
  // Everything that was written goes to the sink.
  void flush();

  uint64_t bytes() const { return handed_over_ + at_; }
  uint64_t bytes_since_synchronised() const { return bytes() - synchronised_at_; }

 private:
  void put(const pt_packet& packet);
  void put_ip(pt_packet_type type, uint64_t ip);
  void put_time(uint64_t tsc);
  void put_branches();
  void hand_over();

  std::vector<uint8_t> buffer_;
  struct FreeEncoder {
    void operator()(pt_encoder* encoder) const { pt_free_encoder(encoder); }
  };
  std::unique_ptr<pt_encoder, FreeEncoder> encoder_;
  Sink sink_;
  uint64_t at_ = 0;  // in the buffer
  uint64_t handed_over_ = 0;
  uint64_t synchronised_at_ = 0;
  uint64_t last_ip_ = 0;
  uint64_t last_tsc_ = 0;
  uint64_t branches_ = 0;  // the oldest one uppermost
  uint8_t branch_count_ = 0;
  uint64_t branches_tsc_ = 0;  // of the last of them
  uint8_t ratio_;
};

}  // namespace fathom::snapshot::step
