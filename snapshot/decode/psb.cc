#include "snapshot/decode/psb.h"

#include <intel-pt.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "snapshot/decode/packet_walk.h"

namespace fathom::snapshot {
namespace {

constexpr uint8_t kPsb[kPsbBytes] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
                                     0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};

uint64_t sign_extended(uint64_t value, unsigned bits) {
  const unsigned unused = 64 - bits;
  return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
}

// The last IP is 0 behind a PSB, so that an update of its lower bits is the whole address.
std::optional<uint64_t> address_of(const pt_packet_ip& packet) {
  if (packet.ipc == pt_ipc_suppressed) return std::nullopt;
  if (packet.ipc == pt_ipc_sext_48) return sign_extended(packet.ip, 48);
  return packet.ip;
}

pt_config plain_config() {
  pt_config config;
  pt_config_init(&config);
  return config;
}

std::optional<bool> recording_behind(const pt_packet& packet, std::optional<bool> before) {
  switch (packet.type) {
    case ppt_tip_pge:
    case ppt_tip:
    case ppt_tnt_8:
    case ppt_tnt_64:
      return true;
    case ppt_tip_pgd:
    case ppt_ovf:  // until a FUP or TIP.PGE says where it goes on
      return false;
    case ppt_fup:
      return address_of(packet.payload.ip) ? true : before;
    default:
      return before;
  }
}

// Behind packets between two PSBs; nothing where they do not tell.
std::optional<bool> recording_behind(std::span<const uint8_t> bytes) {
  PacketWalk reader(plain_config(), bytes);
  std::optional<bool> on;
  pt_packet packet;
  while (reader.next(packet)) on = recording_behind(packet, on);
  return reader.offset() < bytes.size() ? false : on;  // behind damage decoding begins anew
}

}  // namespace

size_t find_psb(std::span<const uint8_t> bytes, size_t from) {
  if (from >= bytes.size()) return bytes.size();
  const void* match = ::memmem(bytes.data() + from, bytes.size() - from, kPsb, sizeof kPsb);
  if (match == nullptr) return bytes.size();
  auto found = static_cast<size_t>(static_cast<const uint8_t*>(match) - bytes.data());
  while (found + kPsbScanBytes <= bytes.size() && std::memcmp(bytes.data() + found + kPsbBytes, kPsb, 2) == 0)
    found += 2;
  return found;
}

PsbHeader read_psb_header(std::span<const uint8_t> bytes) {
  PsbHeader header;
  PacketWalk reader(plain_config(), bytes.first(std::min(bytes.size(), kMostPsbHeaderBytes)));
  pt_packet packet;
  if (!reader.next(packet) || packet.type != ppt_psb) return header;
  while (reader.next(packet) && packet.type != ppt_psb && packet.type != ppt_ovf) {
    if (packet.type == ppt_psbend) header.complete = true;
    if (header.complete) break;
    if (packet.type == ppt_fup) header.ip = address_of(packet.payload.ip);
    if (packet.type == ppt_tsc) header.tsc = packet.payload.tsc.tsc;
  }
  return header;
}

// The last packets tell as a rule.
bool records_behind(std::span<const uint8_t> bytes, bool before) {
  std::vector<size_t> begins = {0};
  while (begins.back() < bytes.size()) begins.push_back(find_psb(bytes, begins.back() + kPsbBytes));
  for (size_t at = begins.size() - 1; at-- > 0;) {
    const auto on = recording_behind(bytes.subspan(begins[at], begins[at + 1] - begins[at]));
    if (on) return *on;
  }
  return before;
}

}  // namespace fathom::snapshot
