// LivingThreads: translates a process's thread ids to the node's, and reads the threads' current names, from /proc.
//
// Purpose: the threads of a capture. Thread safety: none; one owner. Errors: a thread that has ended, or cannot be
// read, keeps the program's number. Bounds: as NodeThreads. The constructor reads one file for each living thread if
// the process has its own pid namespace; each call reads at most one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "node-agent/capture/node_threads.h"
#include "node-agent/capture/task_directory.h"

namespace fathom::agent {

struct ThreadIdentity {
  uint32_t node_tid = 0;
  std::string name;  // empty: not known
};

class LivingThreads {
 public:
  // `pid`: as the node sees it. `proc`, for tests: where /proc is.
  explicit LivingThreads(pid_t pid, const std::string& proc = "/proc");

  // `program_tid`: as the program sees it.
  ThreadIdentity operator()(uint32_t program_tid) const;

 private:
  TaskDirectory tasks_;
  NodeThreads threads_;
};

}  // namespace fathom::agent
