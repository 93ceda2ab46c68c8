// Child: another program, started with care and reaped by whoever holds it.
//
// Purpose: for the supervisor and the demo. A child never outlives the thread that started it (PR_SET_PDEATHSIG), has a
// process group of its own (so that Ctrl-C reaches its parent only, which then decides), reads /dev/null and inherits
// no descriptor but those asked for. Thread safety: one thread, the one that lives longest. Ownership: the destructor
// kills and reaps what still runs; with a child goes what is left of its process group. Errors: start()
// says why the program cannot run, including what exec() said.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/fd.h"

namespace fathom::cli {

struct ChildOptions {
  std::vector<std::string> command;  // command[0] is looked for on PATH when it has no slash
  std::string directory;             // empty: ours
  // (number in the child, descriptor of ours); 1 and 2 default to our standard error, so that our output stays ours.
  std::vector<std::pair<int, int>> descriptors;
  // Variables that differ from ours: a value, or nothing to take the variable away.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  std::string own_pid_variable;  // a variable that holds the child's own process id; empty: none
};

// How a child ended, for people: "ended with status 3", "was killed by signal 9 (Killed)".
std::string describe_exit(int wait_status);

class Child {
 public:
  static Result<Child> start(const ChildOptions& options);
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  Child& operator=(Child&& other) noexcept;
  ~Child() { kill_and_reap(); }

  pid_t pid() const { return pid_; }
  bool running() const { return pid_ != 0; }
  void signal(int number) const;
  // The wait status, once it has ended; nothing while it runs.
  std::optional<int> poll();
  // Waits at most so long; nothing when it still runs then.
  std::optional<int> wait(uint64_t timeout_nano);

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  void kill_group() const;
  void kill_and_reap();
  pid_t pid_ = 0;
};

// Runs a program to its end and returns what it printed (at most 64 KiB); an error when it fails or takes too long.
Result<std::string> run_and_capture(const std::vector<std::string>& command, uint64_t timeout_nano);

}  // namespace fathom::cli
