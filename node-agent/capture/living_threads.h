// LivingThreads: what the node calls the threads of a process, and how they are named now, from /proc.
//
// Purpose: a program in a pid namespace of its own has other numbers for its threads than the node. Thread safety:
// none; one owner. Errors: threads that are gone, or may not be seen, are unknown: their number is then the program's.
// Bounds: kMostThreads are looked at; the time is that of a few system calls for each thread that is asked for, in a
// namespace of its own for each thread that lives.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>

namespace fathom::agent {

struct ThreadIdentity {
  uint32_t node_tid = 0;
  std::string name;  // empty: not known
};

class LivingThreads {
 public:
  static constexpr size_t kMostThreads = 16 * 1024;

  // `pid`: as the node sees it. `proc`, for tests: where /proc is.
  explicit LivingThreads(pid_t pid, const std::string& proc = "/proc");

  // Of a thread as the program numbers it.
  ThreadIdentity operator()(uint32_t program_tid) const;

 private:
  void add(const std::string& number, bool has_namespace);

  const std::string tasks_;
  std::unordered_map<uint32_t, uint32_t> node_tids_;  // by the program's
};

}  // namespace fathom::agent
