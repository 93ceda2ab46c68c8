// A program under measurement: started, told to end, and its use of processor and memory read off.
//
// Purpose: the server is a black box; the kernel's accounting is the measure. Ownership: the child is killed when this
// object dies, and ends when this program or the thread that started it does. Thread safety: one thread, but
// cpu_seconds() and rss_max_mib() may be called from any while it runs. Errors: kUnavailable with the log's path when
// the child ends before it is ready.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fathom::bench {

// As exec() takes them, with a null behind; good for as long as the strings are.
std::vector<char*> exec_pointers(std::vector<std::string>& strings);

struct ChildOptions {
  std::vector<std::string> command;                              // "--ready-fd N" is added at its end
  std::vector<std::pair<std::string, std::string>> environment;  // besides our own
  std::string log_path;                                          // of stdout and stderr
};

struct ChildUsage {
  double cpu_seconds = 0;  // user and system, from start to end
  double rss_max_mib = 0;
  int exit_status = 0;
};

class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(const ChildProcess&) = delete;
  ~ChildProcess();

  // Returns the line that the child wrote to its ready descriptor.
  Result<std::string> start(const ChildOptions& options);
  double cpu_seconds() const;  // so far, from /proc
  double rss_max_mib() const;  // VmHWM
  bool running() const;
  // Waits until the child uses less than `share` of one processor over two seconds, or `limit_seconds` are over.
  bool wait_until_idle(double share, double limit_seconds) const;
  // SIGTERM, then what getrusage says of the whole life.
  Result<ChildUsage> stop();

 private:
  Result<std::string> spawn(const ChildOptions& options, int ready_write);

  pid_t pid_ = -1;
  mutable double rss_seen_mib_ = 0;
};

}  // namespace fathom::bench
