#include "bench/kernel_steps.h"

#include <boost/json.hpp>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "bench/child_process.h"
#include "bench/kernel_worker.h"
#include "bench/loops.h"
#include "bench/tracers/subprocess.h"
#include "bench/tracers/syscall_tracers.h"

namespace fathom::bench {

namespace {

using Workers = std::unique_ptr<KernelWorker>;
using WorkerQuestion = Result<double> (KernelWorker::*)();

struct Turns {
  std::vector<double> untraced, added, added_not_chosen;
  KernelCost cost() { return {median(untraced), median(added), median(added_not_chosen)}; }
};

// The last ones: what was there before is of other runs.
std::string words_in(const std::string& path) {
  std::ifstream file(path);
  std::string words = "it has not said why in " + path;
  for (std::string line; std::getline(file, line);) words = line;
  return words;
}

class CostSteps {
 public:
  // `watch`: the program that chooses a process, or begins to record it, when "--pid PID --ready-fd N" is added.
  CostSteps(const KernelCostOptions& options, WorkerQuestion question, std::vector<std::string> watch)
      : options_(options),
        question_(question),
        watch_(std::move(watch)),
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
    auto ready = watch.start({watch_command(chosen.pid()), {}, log_});
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
    return ended->exit_status == 0 ? Result<>() : internal(watch_[0] + " failed: " + words_in(log_));
  }

  std::vector<std::string> watch_command(pid_t pid) const {
    std::vector<std::string> words = watch_;
    words.insert(words.end(), {"--pid", std::to_string(pid)});
    return words;
  }

  const KernelCostOptions& options_;
  const WorkerQuestion question_;
  const std::vector<std::string> watch_;
  const std::string log_;
};

// Whether kernel_watch can record this here.
Result<bool> can_record(const std::string& watch_program, std::string_view source) {
  auto ended = tracers::run_to_end({{watch_program, "--sources"}, {}});
  if (!ended) return ended.error();
  boost::system::error_code fault;
  const boost::json::value sources = boost::json::parse(ended->output, fault);
  if (fault || !sources.is_array()) return internal("kernel_watch said: " + ended->output);
  for (const boost::json::value& entry : sources.as_array()) {
    if (entry.at("name").as_string() == source) return entry.at("available").as_bool();
  }
  return false;
}

}  // namespace

Result<KernelCost> measure_calls(const KernelCostOptions& options) {
  return CostSteps(options, &KernelWorker::empty_call_ns, {options.watch_program, "--quiet"}).run();
}

Result<KernelCost> measure_calls_by_perf(const KernelCostOptions& options) {
  const tracers::Tracefs tracefs;
  return CostSteps(options, &KernelWorker::empty_call_ns, {options.perf_program}).run();
}

// Without system calls, as an agent does by default.
Result<KernelCost> measure_faults(const KernelCostOptions& options) {
  const Result<bool> shown = can_record(options.watch_program, "page faults");
  if (!shown) return shown.error();
  if (!*shown) return Error{ErrorCode::kUnsupported, "they are not shown here; kernel_watch --sources says why"};
  return CostSteps(options, &KernelWorker::fault_ns, {options.watch_program, "--quiet", "--no-system-calls"}).run();
}

// Without system calls, of which a change of processes in this game has two.
Result<KernelCost> measure_switches(const KernelCostOptions& options) {
  return CostSteps(options, &KernelWorker::switch_ns, {options.watch_program, "--quiet", "--no-system-calls"}).run();
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
