#include "snapshot/record/step/instruction.h"

#include <Zydis/Zydis.h>

namespace fathom::snapshot::step {
namespace {

const ZydisDecoder& decoder() {
  static const ZydisDecoder kDecoder = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  return kDecoder;
}

bool is_direct(const ZydisDecodedInstruction& decoded) {
  return decoded.raw.imm[0].is_relative != 0;
}

InstructionKind kind_of_category(const ZydisDecodedInstruction& decoded) {
  switch (decoded.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return InstructionKind::kConditional;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return is_direct(decoded) ? InstructionKind::kJump : InstructionKind::kJumpIndirect;
    case ZYDIS_CATEGORY_CALL:
      return is_direct(decoded) ? InstructionKind::kCall : InstructionKind::kCallIndirect;
    case ZYDIS_CATEGORY_RET:
      return InstructionKind::kReturn;
    default:
      return InstructionKind::kOther;
  }
}

bool is_far_return(const ZydisDecodedInstruction& decoded) {
  return decoded.mnemonic == ZYDIS_MNEMONIC_RET && (decoded.opcode == 0xca || decoded.opcode == 0xcb);
}

InstructionKind kind_of(const ZydisDecodedInstruction& decoded) {
  switch (decoded.mnemonic) {
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_INT:
      return InstructionKind::kSystemCall;
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_INT1:
      return InstructionKind::kBreakpoint;
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
      return InstructionKind::kFar;
    // Branches by name that PT tells nothing of: an abort of theirs is an interrupt.
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XABORT:
    case ZYDIS_MNEMONIC_XEND:
      return InstructionKind::kOther;
    default:
      break;
  }
  if (is_far_return(decoded) || decoded.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return InstructionKind::kFar;
  return kind_of_category(decoded);
}

bool writes_memory(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT &&
         (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

bool pops_flags(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_POPFQ || mnemonic == ZYDIS_MNEMONIC_POPF || mnemonic == ZYDIS_MNEMONIC_IRETQ ||
         mnemonic == ZYDIS_MNEMONIC_IRETD || mnemonic == ZYDIS_MNEMONIC_IRET;
}

uint8_t flags_of(const ZydisDecodedInstruction& decoded, std::span<const ZydisDecodedOperand> operands) {
  uint8_t flags = 0;
  constexpr auto kRep = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
  if ((decoded.attributes & kRep) != 0) flags |= kRepeats;
  if (decoded.mnemonic == ZYDIS_MNEMONIC_PUSHFQ || decoded.mnemonic == ZYDIS_MNEMONIC_PUSHF) flags |= kPushesFlags;
  if (pops_flags(decoded.mnemonic)) flags |= kPopsFlags;
  for (const ZydisDecodedOperand& operand : operands) {
    if (writes_memory(operand)) flags |= kWritesMemory;
  }
  return flags;
}

}  // namespace

Instruction classify(std::span<const uint8_t> bytes) {
  ZydisDecodedInstruction decoded;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  const ZyanStatus status = ZydisDecoderDecodeFull(&decoder(), bytes.data(), bytes.size(), &decoded, operands);
  if (!ZYAN_SUCCESS(status)) return {};
  Instruction instruction;
  instruction.length = decoded.length;
  instruction.kind = kind_of(decoded);
  instruction.flags = flags_of(decoded, {operands, decoded.operand_count});
  if (is_direct(decoded)) instruction.displacement = static_cast<int32_t>(decoded.raw.imm[0].value.s);
  return instruction;
}

}  // namespace fathom::snapshot::step
