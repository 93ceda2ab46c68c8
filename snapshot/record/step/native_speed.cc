#include "snapshot/record/step/native_speed.h"

#include <algorithm>
#include <cstdint>

#include "snapshot/record/step/tsc_clock.h"

namespace fathom::snapshot::step {
namespace {

constexpr uint64_t kRounds = 100'000;
constexpr double kInstructionsOfRound = 12;
constexpr int kSpeedTries = 5;

uint64_t ticks_of_loop() {
  uint64_t rounds = kRounds;
  uint64_t word = 0;
  uint64_t sum = 0;
  const uint64_t before = read_tsc();
  // The red zone is the compiler's: calls go below it.
  asm volatile(
      "lea -256(%%rsp), %%rsp\n"
      "1: mov %[word], %%rax\n"
      "add $3, %%rax\n"
      "mov %%rax, %[word]\n"
      "test $4, %%al\n"
      "je 2f\n"
      "add %%rax, %[sum]\n"
      "2: call 3f\n"
      "imul $5, %[sum], %[sum]\n"
      "dec %[rounds]\n"
      "jne 1b\n"
      "jmp 4f\n"
      "3: lea 1(%[sum]), %[sum]\n"
      "ret\n"
      "4: lea 256(%%rsp), %%rsp\n"
      : [rounds] "+r"(rounds), [sum] "+r"(sum), [word] "+r"(word)
      :
      : "rax", "cc", "memory");
  return read_tsc() - before;
}

}  // namespace

double native_ticks_per_instruction() {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < kSpeedTries; i++) least = std::min(least, ticks_of_loop());
  return static_cast<double>(std::max<uint64_t>(least, 1)) / (kRounds * kInstructionsOfRound);
}

}  // namespace fathom::snapshot::step
