// A process that a test forks: it does what it is told, when it is told, and is killed at the end.
//
// Thread safety: one thread. The child runs `body` in a copy of the test's memory; go() and wait_until_said() are a
// byte each through a pipe.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <utility>

#include "base/fd.h"

namespace fathom::agent::testing {

class ChildOfTest {
 public:
  // The child's side of the pipes.
  struct Link {
    int from_test;
    int to_test;
    void await() const {
      char byte;
      if (::read(from_test, &byte, 1) != 1) ::_exit(1);
    }
    void say() const {
      if (::write(to_test, "x", 1) != 1) ::_exit(1);
    }
  };

  explicit ChildOfTest(const std::function<void(const Link&)>& body)
      : to_child_(*make_pipe()), from_child_(*make_pipe()), pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    body({to_child_.read.get(), from_child_.write.get()});
    ::_exit(0);
  }
  ChildOfTest(const ChildOfTest&) = delete;
  ChildOfTest& operator=(const ChildOfTest&) = delete;
  ~ChildOfTest() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  void go() const { (void)!::write(to_child_.write.get(), "x", 1); }
  bool wait_until_said() const {
    char byte;
    return ::read(from_child_.read.get(), &byte, 1) == 1;
  }
  // Reaps it when it has ended by itself.
  void wait_for_end() { ::waitpid(std::exchange(pid_, 0), nullptr, 0); }

 private:
  Pipe to_child_;
  Pipe from_child_;
  pid_t pid_;
};

}  // namespace fathom::agent::testing
