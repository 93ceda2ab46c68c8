#include "bench/snapshot/programs/workloads.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace fathom::bench::workloads {
namespace {

// Numbers that are the same in each turn.
class Numbers {
 public:
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_ = 88172645463325252ull;
};

using Step = uint64_t (*)(uint64_t, uint64_t);
uint64_t factorial_step(uint64_t number, uint64_t product);
Step volatile g_next_step = factorial_step;

// A jump through a pointer that the compiler cannot see through: a TIP packet for each number.
uint64_t factorial_step(uint64_t number, uint64_t product) {
  return number == 0 ? product : g_next_step(number - 1, product * number);
}

uint64_t fibonacci_of(uint64_t number) {
  return number < 2 ? number : fibonacci_of(number - 1) + fibonacci_of(number - 2);
}

using Matrix = std::vector<double>;

Matrix random_matrix(Numbers& numbers, size_t rows) {
  Matrix matrix(rows * rows);
  for (double& value : matrix) value = numbers.real();
  return matrix;
}

Matrix product(const Matrix& left, const Matrix& right, size_t rows) {
  Matrix result(rows * rows, 0.0);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t k = 0; k < rows; ++k) {
      const double factor = left[i * rows + k];
      for (size_t j = 0; j < rows; ++j) result[i * rows + j] += factor * right[k * rows + j];
    }
  }
  return result;
}

double trace_of(const Matrix& matrix, size_t rows) {
  double sum = 0;
  for (size_t i = 0; i < rows; ++i) sum += matrix[i * rows + i];
  return sum;
}

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

constexpr size_t kBlockBytes = 16 << 10;
constexpr size_t kFileBlocks = 4096;

// 64 MiB without a name.
int scratch_file() {
  const char* directory = std::getenv("TMPDIR");
  const int file = ::open(directory == nullptr ? "/tmp" : directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) give_up("pt_workload: cannot make a file");
  const std::vector<char> block(kBlockBytes, 'f');
  for (size_t i = 0; i < kFileBlocks; ++i) {
    if (::write(file, block.data(), block.size()) != static_cast<ssize_t>(block.size())) give_up("pt_workload: write");
  }
  return file;
}

bool is_prime(uint64_t number) {
  for (uint64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return true;
}

}  // namespace

double tail_factorial() {
  uint64_t sum = 0;
  for (int i = 0; i < 5000; ++i) sum += g_next_step(100, 1);
  return static_cast<double>(sum);
}

double parse_integers() {
  Numbers numbers;
  uint64_t sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    char text[32];
    std::snprintf(text, sizeof text, "%x", static_cast<uint32_t>(numbers.next()));
    sum += std::strtoul(text, nullptr, 16);
  }
  return static_cast<double>(sum);
}

double fibonacci() {
  return static_cast<double>(fibonacci_of(25));
}

double matrix_statistics() {
  constexpr size_t kRows = 5;
  Numbers numbers;
  double sum = 0, squares = 0;
  for (int i = 0; i < 2000; ++i) {
    const Matrix matrix = random_matrix(numbers, kRows);
    const Matrix square = product(matrix, matrix, kRows);
    const double trace = trace_of(product(square, square, kRows), kRows);
    sum += trace;
    squares += trace * trace;
  }
  return std::sqrt(squares) / sum;
}

double pi_sum() {
  double sum = 0;
  for (int turn = 0; turn < 100; ++turn) {
    sum = 0;
    for (int k = 1; k <= 10'000; ++k) sum += 1.0 / (static_cast<double>(k) * k);
    asm volatile("" : : "x"(sum));
  }
  return sum;
}

double sort_numbers() {
  Numbers numbers;
  std::vector<double> values(50'000);
  for (double& value : values) value = numbers.real();
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double multiply_matrices() {
  constexpr size_t kRows = 200;
  Numbers numbers;
  const Matrix left = random_matrix(numbers, kRows);
  return trace_of(product(left, random_matrix(numbers, kRows), kRows), kRows);
}

double conditional_branches() {
  for (int i = 0; i < 1'000'000; ++i) {
    asm volatile("movq $42, %%r8\n\tmovq $42, %%r9\n\tcmpq %%r8, %%r9\n\tje 1f\n\tnop\n1:\tnop" ::: "r8", "r9", "cc");
  }
  return 1;
}

double empty_loop() {
  for (int i = 0; i < 1'000'000; ++i) asm volatile("");
  return 1;
}

double random_file_access() {
  static const int kFile = scratch_file();
  static Numbers numbers;
  std::vector<char> block(kBlockBytes);
  for (int i = 0; i < 200; ++i) {
    const auto at = static_cast<off_t>(numbers.next() % kFileBlocks * kBlockBytes);
    const bool reads = i % 3 != 0;
    const ssize_t done =
        reads ? ::pread(kFile, block.data(), block.size(), at) : ::pwrite(kFile, block.data(), block.size(), at);
    if (done != static_cast<ssize_t>(block.size())) give_up("pt_workload: file access");
  }
  return ::fdatasync(kFile);
}

double write_memory() {
  static std::vector<char> memory(64 << 20);
  static int turn = 0;
  std::memset(memory.data(), ++turn, memory.size());
  asm volatile("" : : "r"(memory.data()) : "memory");
  return memory[1];
}

double find_primes() {
  uint64_t count = 0;
  for (uint64_t number = 3; number < 20'000; ++number) count += is_prime(number) ? 1 : 0;
  return static_cast<double>(count);
}

}  // namespace fathom::bench::workloads
