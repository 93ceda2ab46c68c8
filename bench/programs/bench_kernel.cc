// bench-kernel: what the recorder of the kernel's events costs a chosen process, and those that are not chosen, beside
// other tracers. See bench/README.md.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "bench/kernel_steps.h"
#include "bench/kernel_worker.h"
#include "bench/machine.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/server.h"

namespace fathom::bench {
namespace {

Options make_options() {
  return {"bench-kernel",
          {{"--steps", "all", "of calls,perf_ring,tracers,faults,switches, separated by commas; tracers needs calls"},
           {"--turns", "9", "of all steps but tracers"},
           {"--watch", beside_this_program("kernel_watch"), "the program that chooses a process"},
           {"--work-directory", "/tmp", "where logs are left"},
           {"--json", "", "a file for the figures"}}};
}

class KernelBench {
 public:
  KernelBench(const Options& options, Report& report) : options_(options), report_(report) {
    cost_ = {options.text("--watch"), beside_this_program("perf_watch"), options.text("--work-directory"),
             static_cast<int>(options.number("--turns"))};
  }

  Result<> run() {
    for (auto step : {&KernelBench::calls, &KernelBench::perf_ring, &KernelBench::faults, &KernelBench::switches}) {
      if (Result<> fine = (this->*step)(); !fine) return fine;
    }
    return {};
  }

 private:
  bool selected(std::string_view step) const { return options_.selects("--steps", step); }

  Result<> calls() {
    if (!selected("calls")) return {};
    auto cost = measure_calls(cost_);
    if (!cost) return cost.error();
    report_.add("syscall.untraced_ns", cost->untraced_ns, "getppid(), nothing attached");
    report_.add("syscall.added_ns", cost->added_ns, "in a chosen process");
    report_.add("syscall.added_not_chosen_ns", cost->added_not_chosen_ns, "in another one, while that is chosen");
    if (selected("tracers")) beside_tracers(*cost);
    return {};
  }

  void beside_tracers(const KernelCost& ours) {
    for (const Tracer& tracer : known_tracers(cost_.work_directory)) {
      auto traced_ns = time_traced_call(beside_this_program("bench-kernel"), tracer, cost_.work_directory);
      if (!traced_ns) {
        report_.note(tracer.name + " is left out: not installed, or it does not work here");
        continue;
      }
      const double added_ns = *traced_ns - ours.untraced_ns;
      report_.add("syscall." + tracer.name + "_added_ns", added_ns, "the same under it");
      if (tracer.name == "perf_trace")
        report_.add("syscall.added_over_perf_trace", ours.added_ns / added_ns, "ours over theirs");
    }
    std::error_code ignored;
    std::filesystem::remove(cost_.work_directory + "/bench-kernel.perf", ignored);
  }

  Result<> perf_ring() {
    if (!selected("perf_ring")) return {};
    auto cost = measure_calls_by_perf(cost_);
    if (!cost) return leave_out("the ring of perf events", cost.error());
    report_.add("syscall.perf_ring_added_ns", cost->added_ns, "by events of perf in a ring that nobody reads");
    report_.add("syscall.perf_ring_added_not_chosen_ns", cost->added_not_chosen_ns, "in another one meanwhile");
    return {};
  }

  Result<> faults() {
    if (!selected("faults")) return {};
    auto cost = measure_faults(cost_);
    if (!cost) return leave_out("page faults", cost.error());
    report_.add("fault.untraced_ns", cost->untraced_ns, "the first read of a page of anonymous memory");
    report_.add("fault.added_ns", cost->added_ns, "in a chosen process");
    report_.add("fault.added_not_chosen_ns", cost->added_not_chosen_ns, "in another one, while that is chosen");
    return {};
  }

  Result<> leave_out(const std::string& what, const Error& error) {
    if (error.code != ErrorCode::kUnsupported) return error;
    report_.note("left out: " + what + ": " + error.message);
    return {};
  }

  Result<> switches() {
    if (!selected("switches")) return {};
    auto cost = measure_switches(cost_);
    if (!cost) return cost.error();
    report_.add("switch.untraced_ns", cost->untraced_ns, "a byte through a pipe to a process on the same processor");
    report_.add("switch.added_ns", cost->added_ns, "one of the two is chosen; with its wake-ups, without system calls");
    report_.add("switch.added_not_chosen_ns", cost->added_not_chosen_ns, "neither is, while another one is");
    return {};
  }

  const Options& options_;
  Report& report_;
  KernelCostOptions cost_;
};

int run(int argc, char** argv) {
  Options options = make_options();
  if (const auto status = options.parse_or_exit(argc, argv)) return *status;
  Report report("kernel", describe_machine(options.text("--work-directory")).line(), options.command());
  Result<> done = KernelBench(options, report).run();
  return report.finish(done, options.text("--json"));
}

}  // namespace
}  // namespace fathom::bench

int main(int argc, char** argv) {
  // What a tracer runs is this program again: "bench-kernel calls --ready-fd N".
  if (argc == 4 && std::strcmp(argv[1], "calls") == 0) return fathom::bench::run_empty_calls(std::atoi(argv[3]));
  return fathom::bench::run(argc, argv);
}
