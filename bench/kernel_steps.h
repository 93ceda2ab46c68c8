// The measurements of bench-kernel: what the recorder of the kernel's events adds to chosen processes, and to others.
//
// Thread safety: one thread. Units: nanoseconds. Errors: kUnsupported, with the words of kernel_watch, where the kernel
// lets nobody record, or of perf_watch; a process that died.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::bench {

struct KernelCost {
  double untraced_ns = 0;
  double added_ns = 0;             // to the chosen one
  double added_not_chosen_ns = 0;  // to another one, meanwhile
};
struct KernelCostOptions {
  std::string watch_program;   // kernel_watch
  std::string perf_program;    // perf_watch
  std::string work_directory;  // for its log
  int turns = 9;               // each has all three; the medians over the turns count
};
Result<KernelCost> measure_calls(const KernelCostOptions& options);
// Recorded by events of perf, in a ring that nobody reads.
Result<KernelCost> measure_calls_by_perf(const KernelCostOptions& options);
// kUnsupported, too, on a kernel that shows nobody its page faults.
Result<KernelCost> measure_faults(const KernelCostOptions& options);
Result<KernelCost> measure_switches(const KernelCostOptions& options);

// A tracer that starts its program itself, in front of it; `name` is the key's.
struct Tracer {
  std::string name;
  std::vector<std::string> command;
};
std::vector<Tracer> known_tracers(const std::string& work_directory);
// What an empty call takes under it; nothing where it is not installed, or does not work here.
std::optional<double> time_traced_call(const std::string& this_program, const Tracer& tracer,
                                       const std::string& work_directory);

}  // namespace fathom::bench
