// pt_workload NAME: one of the workloads, in turns. Says "ready"; then, for each line with a number, runs so many turns
// and answers how many nanoseconds they took. Ends with its input. Without a name: lists them.
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/time.h"
#include "bench/snapshot/programs/workloads.h"

namespace fathom::bench::workloads {
namespace {

struct Workload {
  std::string_view name;
  double (*turn)();
};
constexpr Workload kWorkloads[] = {
    {"TailFact", tail_factorial},
    {"ParseInt", parse_integers},
    {"Fib", fibonacci},
    {"RandMatStat", matrix_statistics},
    {"CannyNoOptimize", canny_plain},
    {"PiSum", pi_sum},
    {"CannyOptimize", canny_optimized},
    {"Sort", sort_numbers},
    {"RandMatMul", multiply_matrices},
    {"Omega", conditional_branches},
    {"Epsilon", empty_loop},
    {"FileIO", random_file_access},
    {"Memory", write_memory},
    {"CPU", find_primes},
};

// One ring holds it all, and it does not meet itself elsewhere.
void stay_on_one_processor() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(::sched_getcpu()), &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

int serve(const Workload& workload) {
  stay_on_one_processor();
  double volatile kept = workload.turn();  // what the first turn maps and makes is no part of any other
  std::puts("ready");
  std::fflush(stdout);
  char line[64];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    const uint64_t begin = now_monotonic_nano();
    for (long turn = std::atol(line); turn > 0; --turn) kept = workload.turn();
    std::printf("%llu\n", static_cast<unsigned long long>(now_monotonic_nano() - begin));
    std::fflush(stdout);
  }
  (void)kept;
  return 0;
}

}  // namespace
}  // namespace fathom::bench::workloads

int main(int argc, char** argv) {
  using namespace fathom::bench::workloads;
  for (const Workload& workload : kWorkloads) {
    if (argc < 2) std::printf("%.*s\n", static_cast<int>(workload.name.size()), workload.name.data());
    if (argc == 2 && workload.name == argv[1]) return serve(workload);
  }
  return argc < 2 ? 0 : 2;
}
