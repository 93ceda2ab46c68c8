// Tracers of system calls, each put on one process and taken off again.
//
// Purpose: the survey's table V. Thread safety: one thread. Ownership: a tracer that is on goes off with its object.
// Errors: kUnavailable with the reason, which is the user's to read: not installed, not permitted, not here.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::bench::tracers {

class SyscallTracer {
 public:
  virtual ~SyscallTracer() = default;
  virtual std::string name() const = 0;
  // Returns when the process is traced. What the tracer writes goes to `output`.
  virtual Result<> put_on(pid_t pid, const std::string& output) = 0;
  virtual void take_off() = 0;
  // Whether `output`, or what the tracer kept in memory, has a getppid(); asked before it is taken off.
  virtual bool has_seen(const std::string& output) = 0;
};

// strace, perf trace, ftrace, fathom: whether they can be had here or not.
std::vector<std::unique_ptr<SyscallTracer>> syscall_tracers();

// tracefs, mounted where it usually is for as long as this object lives. Without it there is neither perf trace nor
// ftrace.
class Tracefs {
 public:
  Tracefs();
  ~Tracefs();
  Tracefs(const Tracefs&) = delete;
  static constexpr const char* kPath = "/sys/kernel/tracing";

 private:
  bool ours_ = false;
};

}  // namespace fathom::bench::tracers
