// LivingThreads: what the node calls the threads of a process, and how they are named now, from /proc.
//
// Purpose: threads of a capture. Thread safety: none; one owner. Errors: threads that are gone, or may not be seen, are
// unknown: their number is then the program's. Bounds: as NodeThreads; the time is that of a few system calls for each
// thread that is asked for, in a pid namespace of its own for each thread that lives.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "node-agent/capture/node_threads.h"

namespace fathom::agent {

struct ThreadIdentity {
  uint32_t node_tid = 0;
  std::string name;  // empty: not known
};

class LivingThreads {
 public:
  // `pid`: as the node sees it. `proc`, for tests: where /proc is.
  explicit LivingThreads(pid_t pid, const std::string& proc = "/proc");

  // Of a thread as the program numbers it.
  ThreadIdentity operator()(uint32_t program_tid) const;

 private:
  const std::string tasks_;
  NodeThreads threads_;
};

}  // namespace fathom::agent
