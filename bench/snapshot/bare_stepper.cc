#include "bench/snapshot/bare_stepper.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "base/fd.h"

namespace fathom::bench {
namespace {

// While it lives, this thread and what it starts run on one processor.
class OneProcessor {
 public:
  OneProcessor() {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(::sched_getcpu()), &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  ~OneProcessor() { ::sched_setaffinity(0, sizeof before_, &before_); }
  OneProcessor(const OneProcessor&) = delete;

 private:
  cpu_set_t before_;
};

[[noreturn]] void run_traced(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, 1);
  ::dup2(nothing, 2);
  ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  ::execv(words[0], words.data());
  ::_exit(127);
}

}  // namespace

Result<BareSteps> step_barely(const std::vector<std::string>& command) {
  const OneProcessor here;
  const pid_t child = ::fork();
  if (child < 0) return system_error("cannot fork");
  if (child == 0) run_traced(command);
  int status = 0;
  ::waitpid(child, &status, 0);
  BareSteps bare;
  const auto begin = std::chrono::steady_clock::now();
  while (WIFSTOPPED(status)) {
    ++bare.steps;
    if (::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) return system_error("cannot step");
    ::waitpid(child, &status, 0);
  }
  bare.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return bare;
}

}  // namespace fathom::bench
