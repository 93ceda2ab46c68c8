#include "snapshot/analyze/instruction_decoder.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <span>

#include "base/hash.h"
#include "snapshot/decode/instruction_length.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kMostKept = 400'000;  // instructions, about 64 MiB
constexpr uint32_t kMostInBlock = 65536;
constexpr uint64_t kInterruptFlag = 0x200;

struct Parts {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

  const ZydisDecodedOperand& operand(int number) const { return operands[number]; }
  bool has_constant() const {
    return instruction.operand_count_visible == 2 && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  }
};

bool is_eax(ZydisRegister name) {
  return name == ZYDIS_REGISTER_RAX || name == ZYDIS_REGISTER_EAX || name == ZYDIS_REGISTER_AX ||
         name == ZYDIS_REGISTER_AL || name == ZYDIS_REGISTER_AH;
}

bool writes_eax(const Parts& parts) {
  for (int i = 0; i < parts.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = parts.operand(i);
    if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 && operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
        is_eax(operand.reg.value)) {
      return true;
    }
  }
  return false;
}

// `mov eax, 1` and `xor eax, eax` say what they leave there.
int64_t eax_after(const Parts& parts) {
  if (!writes_eax(parts)) return DecodedInstruction::kWritesNothing;
  const ZydisDecodedInstruction& one = parts.instruction;
  const bool whole = one.operand_count_visible == 2 && parts.operand(0).size >= 32;
  if (whole && one.mnemonic == ZYDIS_MNEMONIC_MOV && parts.has_constant()) {
    return static_cast<int32_t>(parts.operand(1).imm.value.u);
  }
  if (whole && one.mnemonic == ZYDIS_MNEMONIC_XOR && parts.operand(1).type == ZYDIS_OPERAND_TYPE_REGISTER &&
      parts.operand(0).reg.value == parts.operand(1).reg.value) {
    return 0;
  }
  return DecodedInstruction::kWritesUnknown;
}

bool uses_vectors(const Parts& parts) {
  for (int i = 0; i < parts.instruction.operand_count_visible; ++i) {
    if (parts.operand(i).type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    const ZydisRegisterClass kind = ZydisRegisterGetClass(parts.operand(i).reg.value);
    if (kind == ZYDIS_REGCLASS_XMM || kind == ZYDIS_REGCLASS_YMM || kind == ZYDIS_REGCLASS_ZMM) return true;
  }
  return false;
}

// An exchange with memory locks without being told.
bool locks(const Parts& parts) {
  if ((parts.instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0) return true;
  if (parts.instruction.mnemonic != ZYDIS_MNEMONIC_XCHG) return false;
  return parts.operand(0).type == ZYDIS_OPERAND_TYPE_MEMORY || parts.operand(1).type == ZYDIS_OPERAND_TYPE_MEMORY;
}

bool is_pop_flags(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_POPF || mnemonic == ZYDIS_MNEMONIC_POPFD || mnemonic == ZYDIS_MNEMONIC_POPFQ;
}

// Takes the interrupt flag out of a saved copy of the flags.
bool clears_flag(const Parts& parts) {
  if (!parts.has_constant()) return false;
  const uint64_t constant = parts.operand(1).imm.value.u;
  if (parts.instruction.mnemonic == ZYDIS_MNEMONIC_AND) return (constant & kInterruptFlag) == 0;
  return parts.instruction.mnemonic == ZYDIS_MNEMONIC_BTR && constant == 9;
}

uint16_t groups_by_category(ZydisInstructionCategory category) {
  switch (category) {
    case ZYDIS_CATEGORY_CALL:
      return kGroupCall;
    case ZYDIS_CATEGORY_RET:
      return kGroupReturn;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return kGroupJump;
    case ZYDIS_CATEGORY_COND_BR:
      return kGroupBranch;
    default:
      return 0;
  }
}

uint16_t groups_by_mnemonic(const Parts& parts) {
  switch (parts.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_CLI:
      return kGroupDisablesInterrupts;
    case ZYDIS_MNEMONIC_STI:
      return kGroupEnablesInterrupts;
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_SYSENTER:
      return kGroupSystemCall;
    case ZYDIS_MNEMONIC_INT:
      return parts.operand(0).imm.value.u == 0x80 ? kGroupSystemCall : 0;
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_LFENCE:
    case ZYDIS_MNEMONIC_SFENCE:
      return kGroupFence;
    default:
      return 0;
  }
}

uint16_t groups_of(const Parts& parts) {
  uint16_t groups = groups_by_category(parts.instruction.meta.category) | groups_by_mnemonic(parts);
  if (locks(parts)) groups |= kGroupLock;
  if (parts.instruction.meta.isa_ext == ZYDIS_ISA_EXT_X87) groups |= kGroupFpu;
  if (uses_vectors(parts)) groups |= kGroupVector;
  return groups;
}

DecodedInstruction unknown_instruction(uint64_t address, std::span<const uint8_t> bytes, CodeMode mode) {
  DecodedInstruction unknown;
  unknown.address = address;
  unknown.length = instruction_length(bytes, mode);
  unknown.text = bytes.empty() ? "(no code)" : "(bad)";
  for (const uint8_t byte : bytes.first(unknown.length)) {
    char text[4];
    std::snprintf(text, sizeof text, " %02x", byte);
    unknown.text += text;
  }
  return unknown;
}

}  // namespace

struct InstructionDecoder::Zydis {
  Zydis() {
    ZydisDecoderInit(&decoder_64, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderInit(&decoder_32, ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32);
    ZydisDecoderInit(&decoder_16, ZYDIS_MACHINE_MODE_LEGACY_16, ZYDIS_STACK_WIDTH_16);
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    for (const auto property : {ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_FORMATTER_PROP_DISP_PADDING,
                                ZYDIS_FORMATTER_PROP_IMM_PADDING}) {
      ZydisFormatterSetProperty(&formatter, property, ZYDIS_PADDING_DISABLED);
    }
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
  }

  std::string text(const Parts& parts, uint64_t address) const {
    char buffer[160];
    const ZyanStatus status = ZydisFormatterFormatInstruction(&formatter, &parts.instruction, parts.operands,
                                                              parts.instruction.operand_count_visible, buffer,
                                                              sizeof buffer, address, nullptr);
    return ZYAN_SUCCESS(status) ? buffer : "(bad)";
  }

  const ZydisDecoder& decoder(CodeMode mode) const {
    if (mode == CodeMode::k64) return decoder_64;
    return mode == CodeMode::k32 ? decoder_32 : decoder_16;
  }

  ZydisDecoder decoder_64;
  ZydisDecoder decoder_32;
  ZydisDecoder decoder_16;
  ZydisFormatter formatter;
  // Of the last instructions decoded: whether they take the interrupt flag out of saved flags.
  bool cleared = false;
};

InstructionDecoder::InstructionDecoder(const CodeImages& images, const MemoryMap& map)
    : images_(images), map_(map), zydis_(std::make_unique<Zydis>()) {}
InstructionDecoder::~InstructionDecoder() = default;

size_t InstructionDecoder::KeyHash::operator()(const Key& key) const {
  return hash64({reinterpret_cast<const char*>(&key), sizeof key});
}

MappedRange InstructionDecoder::range_at(uint64_t tsc, uint64_t ip) {
  if (space_pid_ != pid_ || tsc < space_from_ || tsc >= space_.until) {
    space_ = map_.space(pid_, tsc);
    space_pid_ = pid_;
    space_from_ = tsc;
  }
  if (const MappedRange* range = find_range(space_.ranges, ip)) return *range;
  const auto later = map_.later_space(pid_, tsc, ip);
  return later ? *find_range(later->ranges, ip) : MappedRange{};
}

// What else the block's instructions depend on, as a number: the mode, and patched code. After range_at().
uint64_t InstructionDecoder::state(const FlowItem& item) const {
  auto all = static_cast<uint64_t>(item.mode);
  for (const MappedRange* range = find_range(space_.ranges, item.ip); range != nullptr;) {
    if (range->patch != 0) all = hash64({reinterpret_cast<const char*>(&range->patch), sizeof range->patch}, all);
    const bool more = range != &space_.ranges.back() && range[1].begin <= item.to;
    range = more ? range + 1 : nullptr;
  }
  return all;
}

const DecodedBlock& InstructionDecoder::block(const FlowItem& item) {
  const MappedRange range = range_at(item.tsc, item.ip);
  const Key key{item.ip, item.to, range.file_offset + (item.ip - range.begin), state(item), item.count, range.image};
  if (kept_ > kMostKept) {
    blocks_.clear();
    kept_ = 0;
  }
  const auto [at, fresh] = blocks_.try_emplace(key);
  if (fresh) {
    at->second.range = range;
    at->second.id = next_id_++;
    decode(item, at->second);
    kept_ += at->second.instructions.size() + 1;
  }
  return at->second;
}

void InstructionDecoder::decode(const FlowItem& item, DecodedBlock& block) {
  uint64_t address = item.ip;
  zydis_->cleared = false;
  block.instructions.reserve(std::min(item.count, 64u));
  for (uint32_t i = 0; i < std::min(item.count, kMostInBlock); ++i) {
    block.instructions.push_back(decode_one(item.tsc, address, item.mode));
    const DecodedInstruction& last = block.instructions.back();
    if (last.length == 0) return;
    address += last.length;
  }
}

// An instruction may run from one image into the next.
size_t InstructionDecoder::gather(uint64_t tsc, uint64_t address, uint8_t* bytes, size_t size) {
  size_t have = 0;
  while (have < size) {
    const MappedRange range = range_at(tsc, address + have);
    const std::string_view code = images_.bytes(range, address + have);
    if (code.empty()) break;
    const size_t take = std::min(size - have, code.size());
    std::memcpy(bytes + have, code.data(), take);
    have += take;
  }
  return have;
}

DecodedInstruction InstructionDecoder::decode_one(uint64_t tsc, uint64_t address, CodeMode mode) {
  uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
  const size_t size = gather(tsc, address, bytes, sizeof bytes);
  Parts parts;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis_->decoder(mode), bytes, size, &parts.instruction, parts.operands))) {
    return unknown_instruction(address, {bytes, size}, mode);
  }
  DecodedInstruction one;
  one.address = address;
  one.length = parts.instruction.length;
  one.mnemonic = static_cast<uint16_t>(parts.instruction.mnemonic);
  one.groups = groups_of(parts);
  one.eax = eax_after(parts);
  one.text = zydis_->text(parts, address);
  if (is_pop_flags(parts.instruction.mnemonic)) {
    one.groups |= zydis_->cleared ? kGroupDisablesInterrupts : kGroupEnablesInterrupts;
  }
  // A push may stand between taking the flag out and popping what is left.
  if (parts.instruction.mnemonic != ZYDIS_MNEMONIC_PUSH) zydis_->cleared = clears_flag(parts);
  const bool relative = (parts.instruction.attributes & ZYDIS_ATTRIB_IS_RELATIVE) != 0;
  if (relative && parts.operand(0).type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
    ZydisCalcAbsoluteAddress(&parts.instruction, &parts.operand(0), address, &one.target);
  }
  return one;
}

uint16_t mnemonic_number(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (int number = 1; number <= ZYDIS_MNEMONIC_MAX_VALUE; ++number) {
    if (lower == mnemonic_name(static_cast<uint16_t>(number))) return static_cast<uint16_t>(number);
  }
  return 0;
}

std::string_view mnemonic_name(uint16_t number) {
  const char* text = ZydisMnemonicGetString(static_cast<ZydisMnemonic>(number));
  return text != nullptr ? text : "";
}

}  // namespace fathom::snapshot
