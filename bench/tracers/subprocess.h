// A program that is spoken to through pipes, and one that is run to its end.
//
// Purpose: rows, tracers and their daemons. (ChildProcess of this folder is for servers that announce themselves.)
// Thread safety: one thread each. Ownership: the program ends with this object, and with the program that started it:
// its standard input ends, and the kernel sends SIGTERM. Errors: kUnavailable when it cannot be started, has ended, or
// did not end in time.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::bench::tracers {

using Environment = std::vector<std::pair<std::string, std::string>>;  // besides our own

struct Command {
  std::vector<std::string> words;  // the first is looked up in PATH
  Environment environment;
  std::string log_path = "/dev/null";  // of standard error
};

class Subprocess {
 public:
  static Result<std::unique_ptr<Subprocess>> start(const Command& command);
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }
  // One line there, one line back.
  Result<std::string> ask(const std::string& line);
  Result<std::string> read_line();  // waits for it
  bool running();
  // Ends its standard input, sends the signal, waits.
  void stop(int signal);

 private:
  Subprocess(pid_t pid, Fd to, Fd from) : pid_(pid), to_(std::move(to)), from_(std::move(from)) {}
  pid_t pid_;
  Fd to_, from_;
  std::string read_;  // beyond the last line
};

struct Ended {
  int status = 0;      // of exit(), or 128 and the signal
  std::string output;  // standard output and standard error
  double rss_max_mib = 0;
  bool fine() const { return status == 0; }
};
// Killed after a minute, or as long as is said.
Result<Ended> run_to_end(const Command& command, int limit_seconds = 60);

// Whether PATH has it.
bool program_is_installed(const std::string& name);

}  // namespace fathom::bench::tracers
