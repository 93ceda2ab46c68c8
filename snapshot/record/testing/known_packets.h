// Packets of code that tests can run and decode without a file: the known loop (known_loop.h).
#pragma once

#include <gtest/gtest.h>
#include <intel-pt.h>

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/record/pt/known_loop.h"

namespace fathom::snapshot {

// The packets that a processor would write of the known loop.
class KnownPackets {
 public:
  explicit KnownPackets(const std::vector<bool>& branches, uint64_t tsc = 1'000'000)
      : tsc_(tsc), bytes_(64 << 10, '\0') {
    pt_config config;
    pt_config_init(&config);
    config.begin = reinterpret_cast<uint8_t*>(bytes_.data());
    config.end = config.begin + bytes_.size();
    encoder_ = pt_alloc_encoder(&config);
    begin();
    for (size_t at = 0; at < branches.size(); at += 6) branches_packet(branches, at);
    pt_packet disable = packet(ppt_tip_pgd);
    disable.payload.ip.ipc = pt_ipc_suppressed;
    put(disable);
    uint64_t end = 0;
    pt_enc_get_offset(encoder_, &end);
    bytes_.resize(end);
    pt_free_encoder(encoder_);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  static pt_packet packet(pt_packet_type type) {
    pt_packet made{};
    made.type = type;
    return made;
  }
  void put(const pt_packet& one) { ASSERT_GE(pt_enc_next(encoder_, &one), 0); }
  void begin() {
    put(packet(ppt_psb));
    pt_packet mode = packet(ppt_mode);
    mode.payload.mode.leaf = pt_mol_exec;
    mode.payload.mode.bits.exec.csl = 1;
    pt_packet tsc = packet(ppt_tsc);
    tsc.payload.tsc.tsc = tsc_;
    put(tsc);
    put(mode);
    put(packet(ppt_psbend));
    pt_packet enable = packet(ppt_tip_pge);
    enable.payload.ip.ipc = pt_ipc_sext_48;
    enable.payload.ip.ip = known_code().begin;
    put(enable);
  }
  void branches_packet(const std::vector<bool>& branches, size_t from) {
    pt_packet tnt = packet(ppt_tnt_8);
    for (size_t at = from; at < branches.size() && at < from + 6; ++at) {
      tnt.payload.tnt.payload = tnt.payload.tnt.payload << 1 | (branches[at] ? 1 : 0);
      ++tnt.payload.tnt.bit_size;
    }
    put(tnt);
  }

  uint64_t tsc_;
  std::string bytes_;
  pt_encoder* encoder_ = nullptr;
};

}  // namespace fathom::snapshot
