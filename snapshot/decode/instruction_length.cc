#include "snapshot/decode/instruction_length.h"

#include <intel-pt.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "snapshot/decode/psb.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kAddress = 0x1000;

struct FreeInstructionDecoder {
  void operator()(pt_insn_decoder* decoder) const { pt_insn_free_decoder(decoder); }
};

int read_code(uint8_t* buffer, size_t size, const pt_asid*, uint64_t ip, void* context) {
  const auto& code = *static_cast<const std::span<const uint8_t>*>(context);
  if (ip < kAddress || ip - kAddress >= code.size()) return -pte_nomap;
  const auto rest = code.subspan(ip - kAddress);
  const size_t count = std::min(size, rest.size());
  std::memcpy(buffer, rest.data(), count);
  return static_cast<int>(count);
}

uint8_t mode_bits(CodeMode mode) {
  if (mode == CodeMode::k64) return 1;
  return mode == CodeMode::k32 ? 2 : 0;
}

// PSB, MODE.Exec, FUP of kAddress, PSBEND: recording is on there.
struct StartPackets {
  uint8_t bytes[kPsbBytes + 2 + 3 + 2];
};

StartPackets start_packets(CodeMode mode) {
  StartPackets packets{};
  for (size_t at = 0; at < kPsbBytes; at += 2) std::memcpy(packets.bytes + at, "\x02\x82", 2);
  const uint8_t rest[] = {0x99, mode_bits(mode), 0x3d, kAddress & 0xff, kAddress >> 8, 0x02, 0x23};
  std::memcpy(packets.bytes + kPsbBytes, rest, sizeof rest);
  return packets;
}

}  // namespace

uint8_t instruction_length(std::span<const uint8_t> bytes, CodeMode mode) {
  StartPackets packets = start_packets(mode);
  pt_config config;
  pt_config_init(&config);
  config.begin = packets.bytes;
  config.end = packets.bytes + sizeof packets.bytes;
  const std::unique_ptr<pt_insn_decoder, FreeInstructionDecoder> decoder(pt_insn_alloc_decoder(&config));
  if (!decoder) return 0;
  pt_image_set_callback(pt_insn_get_image(decoder.get()), read_code, &bytes);
  int status = pt_insn_sync_set(decoder.get(), 0);
  for (pt_event event; status >= 0 && (status & pts_event_pending) != 0;) {
    status = pt_insn_event(decoder.get(), &event, sizeof event);
  }
  pt_insn instruction = {};
  if (status >= 0) pt_insn_next(decoder.get(), &instruction, sizeof instruction);
  return instruction.iclass == ptic_error ? 0 : instruction.size;
}

}  // namespace fathom::snapshot
