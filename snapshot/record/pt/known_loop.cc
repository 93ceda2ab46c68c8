#include "snapshot/record/pt/known_loop.h"

extern "C" void fathom_known_loop(uint32_t rounds);
extern "C" const uint64_t fathom_known_instructions[9];

// An odd round takes the long way, an even one the short way. The table names each instruction.
asm(R"(
    .text
    .globl fathom_known_loop
    .type fathom_known_loop, @function
    .p2align 6
fathom_known_loop:
.Lknown_begin:  xorl %eax, %eax
.Lknown_test:   testb $1, %dil
.Lknown_if:     jz .Lknown_even
.Lknown_odd:    addl $3, %eax
.Lknown_jump:   jmp .Lknown_next
.Lknown_even:   addl $1, %eax
.Lknown_next:   decl %edi
.Lknown_again:  jnz .Lknown_test
.Lknown_return: ret
    .size fathom_known_loop, . - fathom_known_loop
    .section .data.rel.ro, "aw"
    .globl fathom_known_instructions
    .p2align 3
fathom_known_instructions:
    .quad .Lknown_begin, .Lknown_test, .Lknown_if, .Lknown_odd, .Lknown_jump
    .quad .Lknown_even, .Lknown_next, .Lknown_again, .Lknown_return
    .text
)");

namespace fathom::snapshot {
namespace {

enum Instruction { kBegin, kTest, kIf, kOdd, kJump, kEven, kNext, kAgain, kReturn };
constexpr uint64_t kReturnBytes = 1;

}  // namespace

void run_known_loop(uint32_t rounds) {
  fathom_known_loop(rounds);
}

std::vector<uint64_t> known_path(uint32_t rounds) {
  const uint64_t* const at = fathom_known_instructions;
  std::vector<uint64_t> path{at[kBegin]};
  for (uint32_t left = rounds; left > 0; --left) {
    path.insert(path.end(), {at[kTest], at[kIf]});
    if (left % 2 == 1)
      path.insert(path.end(), {at[kOdd], at[kJump]});
    else
      path.push_back(at[kEven]);
    path.insert(path.end(), {at[kNext], at[kAgain]});
  }
  path.push_back(at[kReturn]);
  return path;
}

std::vector<bool> known_branches(uint32_t rounds) {
  std::vector<bool> taken;
  for (uint32_t left = rounds; left > 0; --left) {
    taken.push_back(left % 2 == 0);
    taken.push_back(left > 1);
  }
  return taken;
}

CodeRange known_code() {
  return {fathom_known_instructions[kBegin], fathom_known_instructions[kReturn] + kReturnBytes};
}

}  // namespace fathom::snapshot
