// TaskDirectory: the names of a process's threads, from /proc/PID/task.
//
// Purpose: captures name their threads, some twenty of them several times a second. Opening the directory once saves
// the kernel most of the path of each file. Thread safety: const functions from any thread. Ownership: of the
// directory's descriptor. Errors: a process or thread that has ended, or may not be seen, has no name.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"

namespace fathom::agent {

class TaskDirectory {
 public:
  // `proc`, for tests: where /proc is.
  explicit TaskDirectory(pid_t pid, const std::string& proc = "/proc");

  // Empty: the thread has ended.
  std::string name_of(pid_t tid) const;

 private:
  Fd directory_;
};

}  // namespace fathom::agent
