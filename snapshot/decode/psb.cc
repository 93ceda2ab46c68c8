#include "snapshot/decode/psb.h"

#include <intel-pt.h>

#include <algorithm>
#include <cstring>

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

}  // namespace fathom::snapshot
