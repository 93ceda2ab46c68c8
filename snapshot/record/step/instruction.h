// Instruction: what a recorder of control flow must know of one, and classify(), which finds it out.
//
// Purpose: eight bytes per address, so that a step costs one look-up. The classes are those that Intel PT tells apart:
// what needs a bit, what needs a target, what leaves user mode. Thread safety: plain values; classify() from any
// thread. Errors: bytes that are no instruction have length 0.
#pragma once

#include <cstdint>
#include <span>

namespace fathom::snapshot::step {

enum class InstructionKind : uint8_t {
  kOther,
  kConditional,  // with a direct target
  kJump,         // direct
  kJumpIndirect,
  kCall,  // direct
  kCallIndirect,
  kReturn,
  kSystemCall,  // SYSCALL, SYSENTER, INT n: into the kernel, and not always back to where it was
  kBreakpoint,  // INT3, INT1
  kFar,         // far calls, jumps and returns, IRET: to somewhere, in user mode
};

enum InstructionFlags : uint8_t {
  kRepeats = 1,       // REP: a step is one round of it
  kWritesMemory = 2,  // more than its own stack
  kPushesFlags = 4,   // shows the program that it is stepped
  kPopsFlags = 8,     // and makes the kernel forget that it was not the program that wanted it
};

struct Instruction {
  int32_t displacement = 0;  // of a direct target, from the instruction's end
  uint8_t length = 0;
  InstructionKind kind = InstructionKind::kOther;
  uint8_t flags = 0;

  uint64_t behind(uint64_t ip) const { return ip + length; }
  uint64_t target(uint64_t ip) const { return ip + length + static_cast<uint64_t>(int64_t{displacement}); }
};
static_assert(sizeof(Instruction) == 8);

inline constexpr size_t kMostInstructionBytes = 15;

// The instruction that `bytes` begin with, in 64-bit mode.
Instruction classify(std::span<const uint8_t> bytes);

}  // namespace fathom::snapshot::step
