// Subjects that need no kernel: branches, calls, repeated and wide instructions, exceptions.
#include <immintrin.h>

#include <csetjmp>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>

#include "snapshot/record/programs/step_subjects.h"

namespace {

__attribute__((noinline)) int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// Deeper than a processor's memory of calls, and not to be made a loop.
__attribute__((noinline)) int dive(int depth, volatile int* sum) {
  if (depth == 0) return 0;
  const int below = dive(depth - 1, sum);
  *sum = *sum + below;
  return below + 1;
}

int twice(int x) {
  return 2 * x;
}
int square(int x) {
  return x * x;
}

struct Shape {
  virtual ~Shape() = default;
  virtual int area() const = 0;
};
struct Square : Shape {
  explicit Square(int side) : side(side) {}
  int area() const override { return side * side; }
  int side;
};
struct Strip : Shape {
  int area() const override { return 3; }
};

__attribute__((noinline)) int by_number(int x) {
  switch (x) {
    case 0:
      return 11;
    case 1:
      return 7;
    case 2:
      return 5;
    case 3:
      return 3;
    case 4:
      return 13;
    case 5:
      return 2;
    default:
      return 0;
  }
}

struct Guard {
  explicit Guard(int& count) : count(count) {}
  ~Guard() { count++; }
  int& count;
};

__attribute__((noinline)) void throw_from(int depth, int& guards) {
  const Guard guard(guards);
  volatile bool leave = depth == 0;
  if (leave) throw std::runtime_error("here");
  if (!leave) throw_from(depth - 1, guards);
}

std::jmp_buf back;

__attribute__((noinline)) void jump_from(int depth) {
  volatile bool leave = depth == 0;
  if (leave) std::longjmp(back, 5);
  if (!leave) jump_from(depth - 1);
}

__attribute__((target("avx512f,avx512bw,avx512vl"), noinline)) int sum_wide(const int* numbers, size_t count) {
  __m512i sum = _mm512_setzero_si512();
  for (size_t i = 0; i < count; i += 16) {
    const __m512i some = _mm512_loadu_si512(numbers + i);
    const __mmask16 odd = _mm512_test_epi32_mask(some, _mm512_set1_epi32(1));
    sum = _mm512_mask_add_epi32(sum, odd, sum, some);
  }
  alignas(64) int lanes[16];
  _mm512_store_si512(lanes, sum);
  return std::accumulate(lanes, lanes + 16, 0);
}

}  // namespace

bool subject_recursion() {
  volatile int sum = 0;
  return fibonacci(11) == 89 && dive(200, &sum) == 200;
}

bool subject_indirect() {
  int (*volatile functions[])(int) = {twice, square, by_number};
  int sum = 0;
  for (int i = 0; i < 30; i++) sum += functions[i % 3](i % 7);
  const Square four(2);
  const Strip three;
  const Shape* volatile shapes[] = {&four, &three};
  for (int i = 0; i < 10; i++) sum += shapes[i % 2]->area();
  return sum > 0;
}

bool subject_branches() {
  uint64_t rounds = 20;
  uint64_t sum = 0;
  asm volatile(
      "1: test $1, %%cl\n jne 2f\n add $1, %[sum]\n"
      "2: loop 1b\n"
      "jrcxz 3f\n add $1000, %[sum]\n"
      "3: jmp 4f\n ud2\n"
      "4: call 5f\n"
      "5: pop %%rax\n"  // a call that asks where it is
      "lea 6f(%%rip), %%rax\n jmp *%%rax\n ud2\n"
      "6: add $1, %[sum]\n"
      "jmp 7f\n 7: je 8f\n 8: jne 9f\n 9: nop\n"
      : "+c"(rounds), [sum] "+r"(sum)
      :
      : "rax", "cc", "memory");
  return sum == 11;
}

bool subject_rep() {
  static char from[5000];
  static char to[5000];
  std::memset(from, 'x', sizeof from);
  from[4000] = 'y';
  char* source = from;
  char* target = to;
  size_t count = 0;
  asm volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(count) : : "memory");
  count = 1;
  asm volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(count) : : "memory");
  count = sizeof to - 1;
  asm volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(count) : : "memory");
  target = to;
  count = sizeof to;
  asm volatile("repne scasb" : "+D"(target), "+c"(count) : "a"('y') : "memory", "cc");
  const bool found = target == to + 4001;
  target = to;
  count = 2;
  asm volatile("rep stosq" : "+D"(target), "+c"(count) : "a"(0) : "memory");
  return found && to[0] == 0 && to[15] == 0 && to[16] == 'x';
}

bool subject_avx512() {
  int numbers[160];
  std::iota(numbers, numbers + 160, 0);
  const std::string text(300, 'a');
  return sum_wide(numbers, 160) == 6400 && std::strlen(text.c_str()) == 300 &&
         std::strchr(text.c_str(), 'b') == nullptr;
}

// A program that looks at its flags must not see that it is stepped, nor be stepped by itself afterwards.
bool subject_flags() {
  uint64_t flags = 0;
  for (int i = 0; i < 3; i++) asm volatile("pushfq\n pop %0\n push %0\n popfq" : "=r"(flags) : : "memory", "cc");
  return (flags & 0x100) == 0;
}

bool subject_exceptions() {
  int guards = 0;
  int caught = 0;
  for (int depth = 0; depth < 3; depth++) {
    try {
      try {
        throw_from(depth, guards);
      } catch (const std::logic_error&) {
        return false;
      } catch (const std::runtime_error&) {
        caught++;
        throw;
      }
    } catch (...) {
      caught++;
    }
  }
  return caught == 6 && guards == 6;
}

bool subject_longjmp() {
  volatile int rounds = 0;
  const int from = setjmp(back);
  rounds = rounds + 1;
  if (rounds < 4) jump_from(rounds * 2);
  return from == 5 && rounds == 4;
}
