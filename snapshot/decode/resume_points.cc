#include "snapshot/decode/resume_points.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "snapshot/decode/psb.h"
#include "snapshot/decode/tip_order.h"

namespace fathom::snapshot {
namespace {

uint64_t address_behind(uint64_t last, const pt_packet_ip& packet) {
  switch (packet.ipc) {
    case pt_ipc_update_16:
      return (last & ~uint64_t{0xffff}) | packet.ip;
    case pt_ipc_update_32:
      return (last & ~uint64_t{0xffffffff}) | packet.ip;
    case pt_ipc_update_48:
      return (last & ~uint64_t{0xffffffffffff}) | packet.ip;
    case pt_ipc_sext_48:
      return static_cast<uint64_t>(static_cast<int64_t>(packet.ip << 16) >> 16);
    default:
      return packet.ip;
  }
}

// Packets into a small buffer, by libipt's encoder.
class HeaderWriter {
 public:
  HeaderWriter() {
    pt_config config;
    pt_config_init(&config);
    config.begin = bytes_;
    config.end = bytes_ + sizeof bytes_;
    encoder_ = pt_alloc_encoder(&config);
    assert(encoder_ != nullptr);
  }
  ~HeaderWriter() { pt_free_encoder(encoder_); }
  HeaderWriter(const HeaderWriter&) = delete;
  HeaderWriter& operator=(const HeaderWriter&) = delete;

  void put(pt_packet_type type) { put({.type = type, .size = 0, .payload = {}}); }
  void put_ip(pt_packet_type type, uint64_t ip) {
    pt_packet packet = {.type = type, .size = 0, .payload = {}};
    packet.payload.ip = {pt_ipc_full, ip};
    put(packet);
  }
  void put(const pt_packet& packet) {
    [[maybe_unused]] const int size = pt_enc_next(encoder_, &packet);
    assert(size > 0);
  }
  uint8_t* copy_to_end(uint8_t* end) const {
    uint64_t size = 0;
    pt_enc_get_offset(encoder_, &size);
    std::memcpy(end - size, bytes_, size);
    return end - size;
  }

 private:
  uint8_t bytes_[ResumePoints::kMostHeaderBytes];
  pt_encoder* encoder_;
};

void put_time(HeaderWriter& out, const PacketClock& clock) {
  pt_packet packet = {};
  if (clock.known()) {
    packet.type = ppt_tsc;
    packet.payload.tsc.tsc = clock.tsc();
    out.put(packet);
  }
  if (clock.known() && clock.crystal_known()) {
    packet = {};
    packet.type = ppt_tma;
    packet.payload.tma = {clock.crystal(), clock.fast()};
    out.put(packet);
  }
  if (clock.ratio() == 0) return;
  packet = {};
  packet.type = ppt_cbr;
  packet.payload.cbr.ratio = clock.ratio();
  out.put(packet);
}

void put_cycles(HeaderWriter& out, uint64_t cycles) {
  if (cycles == 0) return;
  pt_packet packet = {};
  packet.type = ppt_cyc;
  packet.payload.cyc.value = cycles;
  out.put(packet);
}

void put_mode(HeaderWriter& out, pt_exec_mode mode) {
  pt_packet packet = {};
  packet.type = ppt_mode;
  packet.payload.mode.leaf = pt_mol_exec;
  packet.payload.mode.bits.exec = pt_set_exec_mode(mode);
  out.put(packet);
}

}  // namespace

ResumePoints::ResumePoints(const pt_config& config, std::span<uint8_t> segment)
    : segment_(segment), walk_(config, segment), tips_send_bits_(tips_send_bits(config, segment)), clock_(config) {}

std::optional<ResumePoint> ResumePoints::next(uint64_t offset) {
  pt_packet packet;
  while (walk_.next(packet)) {
    clock_.take(packet);
    auto point = take(packet);
    if (point && point->packet >= offset) return point;
  }
  return std::nullopt;
}

bool ResumePoints::skip_to_psb(uint64_t offset) {
  const size_t found = find_psb(segment_, std::max(offset + 1, walk_.offset()));
  if (found == segment_.size()) return false;
  walk_.go_to(found);
  likely_.reset();
  mode_.reset();
  guest_ = false;
  return true;
}

std::optional<ResumePoint> ResumePoints::take(const pt_packet& packet) {
  switch (packet.type) {
    case ppt_pad:
    case ppt_cyc:  // belongs to the packet behind it
      return std::nullopt;
    case ppt_tnt_8:
    case ppt_tnt_64:
      return take_tnt(packet);
    case ppt_tip:
      return take_tip(packet);
    default:
      partial_ = false;
      likely_.reset();
      return take_other(packet);
  }
}

std::optional<ResumePoint> ResumePoints::take_tnt(const pt_packet& packet) {
  sent_ = false;
  partial_ = tips_send_bits_ && partial_tnt(packet);
  return std::exchange(likely_, std::nullopt);
}

std::optional<ResumePoint> ResumePoints::take_tip(const pt_packet& packet) {
  likely_.reset();
  if (!take_ip(packet.payload.ip)) return std::nullopt;
  if (sent_) return point(ResumeKind::kCode, packet);
  if (partial_) likely_ = point(ResumeKind::kCode, packet);
  return std::nullopt;
}

std::optional<ResumePoint> ResumePoints::take_other(const pt_packet& packet) {
  switch (packet.type) {
    case ppt_mode:
      if (packet.payload.mode.leaf == pt_mol_exec) mode_ = pt_get_exec_mode(&packet.payload.mode.bits.exec);
      sent_ = true;
      return std::nullopt;
    case ppt_pip:
      guest_ = packet.payload.pip.nr != 0;
      [[fallthrough]];
    case ppt_vmcs:
      sent_ = true;
      return std::nullopt;
    case ppt_psb:
    case ppt_ovf:
      sent_ = absolute_ = true;
      last_ip_ = 0;
      return packet.type == ppt_ovf ? std::optional(point(ResumeKind::kOverflow, packet)) : std::nullopt;
    case ppt_fup:
    case ppt_tip_pgd:
    case ppt_tip_pge:
      sent_ = true;
      if (!take_ip(packet.payload.ip) || packet.type != ppt_tip_pge) return std::nullopt;
      return point(ResumeKind::kBegin, packet);
    default:
      return std::nullopt;
  }
}

bool ResumePoints::take_ip(const pt_packet_ip& packet) {
  if (packet.ipc == pt_ipc_suppressed) return false;
  last_ip_ = address_behind(last_ip_, packet);
  absolute_ = packet.ipc == pt_ipc_sext_48 || packet.ipc == pt_ipc_full;
  return true;
}

ResumePoint ResumePoints::point(ResumeKind kind, const pt_packet& packet) const {
  const uint64_t begin = walk_.offset() - packet.size;
  return {kind,     absolute_, guest_, begin, kind == ResumeKind::kOverflow ? begin : walk_.offset(),
          last_ip_, mode_,     clock_};
}

uint8_t* write_resume_header(const ResumePoint& point, uint8_t* end) {
  HeaderWriter out;
  out.put(ppt_psb);
  put_time(out, point.clock);
  if (point.mode) put_mode(out, *point.mode);
  if (point.kind == ResumeKind::kCode) out.put_ip(ppt_fup, point.ip);
  out.put(ppt_psbend);
  put_cycles(out, point.clock.cycles());
  if (point.kind == ResumeKind::kBegin) out.put_ip(ppt_tip_pge, point.ip);
  return out.copy_to_end(end);
}

}  // namespace fathom::snapshot
