#include "bench/tracers/syscall_rounds.h"

#include <unistd.h>

#include "bench/tracers/row_client.h"

namespace fathom::bench::tracers {

namespace {

// Loops that fit into a reader's ring buffer, with a pause in which it can empty it: what is dropped costs less than
// what is recorded.
constexpr LoopPlan kLoops{10, 500, 10'000};
constexpr SinglePlan kSingles{500, 2'000'000'000};  // strace stops for longer than any interruption
constexpr LoopPlan kProof{1, 100, 100'000};

}  // namespace

SyscallRounds::SyscallRounds(const Command& rows, const std::string& work_directory)
    : rows_(rows), proof_path_(work_directory + "/bench-tracers-" + std::to_string(::getpid()) + ".proof") {}

Result<> SyscallRounds::set_up() {
  auto started = Subprocess::start(rows_);
  if (!started) return started.error();
  process_ = std::move(*started);
  if (Result<> filled = ask_fill(*process_, "syscall", {0}); !filled) return filled;
  for (auto& tracer : syscall_tracers()) {
    const Result<> proven = prove(*tracer);
    tracer->take_off();
    ::unlink(proof_path_.c_str());
    if (proven)
      tracers_.push_back(std::move(tracer));
    else
      missing_[tracer->name()] = proven.error().message;
  }
  return {};
}

Result<> SyscallRounds::prove(SyscallTracer& tracer) {
  if (Result<> on = tracer.put_on(process_->pid(), proof_path_); !on) return on;
  if (const auto ran = ask_loops(*process_, "syscall", {0}, kProof); !ran) return ran.error();
  if (!tracer.has_seen(proof_path_)) return unavailable(tracer.name() + " attached, and saw no system call");
  return {};
}

Result<> SyscallRounds::run_round() {
  if (Result<> done = measure(times_["none"]); !done) return done;
  for (const auto& tracer : tracers_) {
    if (Result<> on = tracer->put_on(process_->pid(), "/dev/null"); !on) return on;
    SyscallTimes& times = times_[tracer->name()];
    Result<> done = measure(times);
    tracer->take_off();
    if (!done) return done;
    times.added.push_back(times.loop.back() - times_["none"].loop.back());
  }
  return {};
}

Result<> SyscallRounds::measure(SyscallTimes& times) {
  const auto loops = ask_loops(*process_, "syscall", {0}, kLoops);
  if (!loops) return loops.error();
  const auto singles = ask_singles(*process_, "syscall", kSingles);
  if (!singles) return singles.error();
  times.loop.push_back(loops->at(0));
  times.average.push_back(singles->average);
  times.deviation.push_back(singles->deviation);
  times.p90.push_back(singles->p90);
  return {};
}

}  // namespace fathom::bench::tracers
