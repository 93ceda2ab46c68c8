// What the kernel recorder slows down: a process of its own that times empty system calls, page faults, or
// changes of processes.
//
// Purpose: the thing that is chosen, or is not, while somebody else is. Thread safety: one thread; fork() it before
// there are others. Ownership: the process is killed when this object dies. Units: nanoseconds. Errors: kUnavailable
// when it has died.
#pragma once

#include <sys/types.h>

#include <memory>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::bench {

inline constexpr int kFaultLoops = 400;
inline constexpr int kFaultsOfALoop = 256;

// Lower quartiles over loops, on the processor that the caller is pinned to.
double time_empty_call_ns();  // getppid(), past the C library
double time_fault_ns();       // the first read of a page: the page of zeros is mapped there, and nothing is cleared
double time_switch_ns();      // a byte to another process and back, halved: each way is one change of processes

class KernelWorker {
 public:
  static Result<std::unique_ptr<KernelWorker>> start();
  KernelWorker(const KernelWorker&) = delete;
  KernelWorker& operator=(const KernelWorker&) = delete;
  ~KernelWorker();

  pid_t pid() const { return pid_; }
  Result<double> empty_call_ns() { return ask('c'); }
  Result<double> fault_ns() { return ask('f'); }
  Result<double> switch_ns() { return ask('s'); }

 private:
  KernelWorker(Pipe questions, Pipe answers) : questions_(std::move(questions)), answers_(std::move(answers)) {}
  [[noreturn]] void serve() const;
  Result<double> ask(char question);

  Pipe questions_;
  Pipe answers_;
  pid_t pid_ = -1;
};

// Times empty calls, and writes the figure to `ready_fd` as a line: run under a tracer that starts its program itself.
int run_empty_calls(int ready_fd);

}  // namespace fathom::bench
