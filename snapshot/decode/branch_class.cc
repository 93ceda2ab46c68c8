#include "snapshot/decode/branch_class.h"

namespace fathom::snapshot {
namespace {

bool is_prefix(uint8_t byte, bool long_mode) {
  switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
      return true;
    default:
      return long_mode && (byte & 0xf0) == 0x40;  // REX
  }
}

BlockEnd of_group_5(uint8_t modrm) {
  switch ((modrm >> 3) & 7) {
    case 2:
      return BlockEnd::kCall;
    case 3:
      return BlockEnd::kFarCall;
    case 4:
      return BlockEnd::kJump;
    case 5:
      return BlockEnd::kFarJump;
    default:
      return BlockEnd::kOther;
  }
}

BlockEnd of_group_7(uint8_t modrm) {
  switch (modrm) {
    case 0xc1:  // VMCALL
      return BlockEnd::kFarCall;
    case 0xc2:  // VMLAUNCH, VMRESUME
    case 0xc3:
    case 0xec:  // UIRET
      return BlockEnd::kFarReturn;
    default:
      return BlockEnd::kOther;
  }
}

BlockEnd of_two_bytes(uint8_t opcode, uint8_t next) {
  switch (opcode) {
    case 0x01:
      return of_group_7(next);
    case 0x05:  // SYSCALL, SYSENTER
    case 0x34:
      return BlockEnd::kFarCall;
    case 0x07:  // SYSRET, SYSEXIT
    case 0x35:
      return BlockEnd::kFarReturn;
    default:
      return BlockEnd::kOther;
  }
}

BlockEnd of_one_byte(uint8_t opcode, uint8_t next) {
  switch (opcode) {
    case 0x9a:
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xf1:
      return BlockEnd::kFarCall;
    case 0xca:
    case 0xcb:
    case 0xcf:
      return BlockEnd::kFarReturn;
    case 0xea:
      return BlockEnd::kFarJump;
    case 0xff:
      return of_group_5(next);
    default:
      return BlockEnd::kOther;
  }
}

}  // namespace

BlockEnd far_or_indirect(std::span<const uint8_t> bytes, bool long_mode) {
  size_t at = 0;
  while (at < bytes.size() && is_prefix(bytes[at], long_mode)) ++at;
  auto byte = [&](size_t offset) { return at + offset < bytes.size() ? bytes[at + offset] : uint8_t{0}; };
  return byte(0) == 0x0f ? of_two_bytes(byte(1), byte(2)) : of_one_byte(byte(0), byte(1));
}

}  // namespace fathom::snapshot
