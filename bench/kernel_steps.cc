#include "bench/kernel_steps.h"

#include <cstdlib>
#include <fstream>
#include <memory>

#include "bench/child_process.h"
#include "bench/kernel_worker.h"
#include "bench/loops.h"

namespace fathom::bench {

namespace {

using Workers = std::unique_ptr<KernelWorker>;
using Question = Result<double> (KernelWorker::*)();

struct Turns {
  std::vector<double> untraced, added, added_not_chosen;
  KernelCost cost() { return {median(untraced), median(added), median(added_not_chosen)}; }
};

std::string words_in(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

class CostSteps {
 public:
  CostSteps(const KernelCostOptions& options, Question question, std::string flag)
      : options_(options),
        question_(question),
        flag_(std::move(flag)),
        log_(options.work_directory + "/kernel-watch.log") {}

  Result<KernelCost> run() {
    auto chosen = KernelWorker::start();
    if (!chosen) return chosen.error();
    auto other = KernelWorker::start();
    if (!other) return other.error();
    Turns turns;
    for (int turn = 0; turn < options_.turns; ++turn) {
      if (Result<> fine = take_turn(**chosen, **other, turns); !fine) return fine.error();
    }
    return turns.cost();
  }

 private:
  // The three right after each other, so that what the machine does meanwhile falls on all.
  Result<> take_turn(KernelWorker& chosen, KernelWorker& other, Turns& turns) {
    auto untraced = (chosen.*question_)();
    if (!untraced) return untraced.error();
    ChildProcess watch;
    auto ready =
        watch.start({{options_.watch_program, "--pid", std::to_string(chosen.pid()), "--quiet", flag_}, {}, log_});
    if (!ready) return Error{ErrorCode::kUnsupported, words_in(log_)};
    auto traced = (chosen.*question_)();
    auto beside = (other.*question_)();
    if (!traced) return traced.error();
    if (!beside) return beside.error();
    turns.untraced.push_back(*untraced);
    turns.added.push_back(*traced - *untraced);
    turns.added_not_chosen.push_back(*beside - *untraced);
    auto ended = watch.stop();
    if (!ended) return ended.error();
    return ended->exit_status == 0 ? Result<>() : internal("kernel_watch failed: " + words_in(log_));
  }

  const KernelCostOptions& options_;
  const Question question_;
  const std::string flag_;
  const std::string log_;
};

}  // namespace

Result<KernelCost> measure_calls(const KernelCostOptions& options) {
  return CostSteps(options, &KernelWorker::empty_call_ns, "--quiet").run();
}

// Without system calls, of which a change of processes in this game has two.
Result<KernelCost> measure_switches(const KernelCostOptions& options) {
  return CostSteps(options, &KernelWorker::switch_ns, "--no-system-calls").run();
}

std::vector<Tracer> known_tracers(const std::string& work_directory) {
  return {{"perf_trace", {"perf", "trace", "-o", "/dev/null", "--"}},
          {"perf_record",
           {"perf", "record", "-q", "-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit", "-o",
            work_directory + "/bench-kernel.perf", "--"}},
          {"strace", {"strace", "-f", "-o", "/dev/null", "--"}}};
}

std::optional<double> time_traced_call(const std::string& this_program, const Tracer& tracer,
                                       const std::string& work_directory) {
  std::vector<std::string> command = {"/usr/bin/env"};
  command.insert(command.end(), tracer.command.begin(), tracer.command.end());
  command.insert(command.end(), {this_program, "calls"});
  ChildProcess child;
  auto line = child.start({command, {}, work_directory + "/bench-kernel.log"});
  if (!line) return std::nullopt;
  (void)child.stop();
  const double figure = std::atof(line->c_str());
  return figure > 0 ? std::optional(figure) : std::nullopt;
}

}  // namespace fathom::bench
