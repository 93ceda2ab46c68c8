// An empty system call under tracers, by turns: the survey's table V.
//
// Purpose: what each tracer adds to the traced process. In each round the same process runs untraced, then under each
// tracer; what a tracer adds is formed within the round. Every tracer has to show first that it has seen the calls.
// Thread safety: one thread. Units: nanoseconds per call. Errors: of the row's program; a tracer that cannot be had is
// a reason in `missing`.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/tracers/subprocess.h"
#include "bench/tracers/syscall_tracers.h"

namespace fathom::bench::tracers {

struct SyscallTimes {
  std::vector<double> loop, average, deviation, p90;  // one value per round
  std::vector<double> added;                          // loop, less that of the untraced process in this round
};

class SyscallRounds {
 public:
  SyscallRounds(const Command& rows, const std::string& work_directory);
  // Starts the process, and finds out which tracers there are.
  Result<> set_up();
  Result<> run_round();
  const std::map<std::string, SyscallTimes>& times() const { return times_; }  // "none" among them
  const std::map<std::string, std::string>& missing() const { return missing_; }

 private:
  Result<> prove(SyscallTracer& tracer);
  Result<> measure(SyscallTimes& times);

  const Tracefs tracefs_;
  const Command rows_;
  const std::string proof_path_;
  std::unique_ptr<Subprocess> process_;
  std::vector<std::unique_ptr<SyscallTracer>> tracers_;
  std::map<std::string, SyscallTimes> times_;
  std::map<std::string, std::string> missing_;
};

}  // namespace fathom::bench::tracers
