#include "bench/tracers/instructions.h"

#include <cstdlib>

namespace fathom::bench::tracers {

namespace {

constexpr uint32_t kFewCalls = 20'000;
constexpr uint32_t kManyCalls = 120'000;
constexpr int kLimitSeconds = 300;

Result<uint64_t> count(const std::string& program, const std::string& row, uint32_t calls,
                       const Environment& environment) {
  Result<Ended> ended = run_to_end({{"valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program,
                                     "--count", row, std::to_string(calls)},
                                    environment,
                                    "/dev/null"},
                                   kLimitSeconds);
  if (!ended) return ended.error();
  const std::optional<uint64_t> instructions = collected_instructions(ended->output);
  if (!ended->fine() || !instructions) return unavailable("valgrind could not run row " + row);
  return *instructions;
}

}  // namespace

std::optional<uint64_t> collected_instructions(const std::string& output) {
  const std::string mark = "Collected : ";
  const size_t at = output.rfind(mark);
  if (at == std::string::npos) return std::nullopt;
  const char* digits = output.c_str() + at + mark.size();
  char* end = nullptr;
  const uint64_t number = std::strtoull(digits, &end, 10);
  if (end == digits) return std::nullopt;
  return number;
}

Result<double> instructions_per_event(const std::string& program, const std::string& row,
                                      const Environment& environment) {
  if (!program_is_installed("valgrind")) return unavailable("valgrind is not installed (Debian: valgrind)");
  const Result<uint64_t> few = count(program, row, kFewCalls, environment);
  if (!few) return few.error();
  const Result<uint64_t> many = count(program, row, kManyCalls, environment);
  if (!many) return many.error();
  return (static_cast<double>(*many) - static_cast<double>(*few)) / (kManyCalls - kFewCalls);
}

}  // namespace fathom::bench::tracers
