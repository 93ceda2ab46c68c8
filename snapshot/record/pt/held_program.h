// HeldProgram: a command that stands still before it begins, so that its recording can be armed, and then runs free.
//
// Purpose: two ways to hold it. Waiting for a byte, before exec(), which nothing can forbid; or by ptrace behind
// exec(), where its program is mapped, and further on where its libraries are: functions have addresses there. Thread
// safety: one thread, which is the tracer. Ownership: the process; one that was never released is killed by the
// destructor, one that was is left alone. Errors: kNotFound, saying what exec() says.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::snapshot {

class HeldProgram {
 public:
  HeldProgram() = default;
  HeldProgram(const HeldProgram&) = delete;
  HeldProgram& operator=(const HeldProgram&) = delete;
  ~HeldProgram();

  // It waits for a byte.
  Result<> start(const std::vector<std::string>& command);
  // It stands at its first instruction, by ptrace.
  Result<> start_mapped(const std::vector<std::string>& command);
  // Of the latter: on to where its libraries are mapped and none of its own code has run; false: it ended before.
  bool run_to_entry();
  Result<> release();

  pid_t pid() const { return pid_; }
  // Whether it has ended, and how.
  bool ended(int& status);

 private:
  [[noreturn]] void become(char* const* words, const Pipe& go, int fault) const;
  bool next_stop(int& status) const;

  std::string name_;
  pid_t pid_ = -1;
  bool traced_ = false;
  bool released_ = false;
  bool gone_ = false;
  int gone_status_ = 0;
  Fd go_;
  Fd fault_;
};

}  // namespace fathom::snapshot
