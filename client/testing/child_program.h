// A program that a test starts, talks to by its input and output, and kills.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "client/testing/fake_agent.h"

namespace fathom::client::testing {

class ChildProgram {
 public:
  // Environment: "KEY=value" entries beside the test's own.
  ChildProgram(const std::vector<std::string>& command, const std::vector<std::string>& environment);
  ~ChildProgram();  // kills it
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  pid_t pid() const { return pid_; }
  // The next line of its output, without the newline; empty at the end.
  std::string line();
  void say(const std::string& line);
  void kill();
  // Its exit status; 1000 and the signal's number when it was killed.
  int wait();

 private:
  pid_t pid_;
  OwnedFd input_, output_;
  int status_ = -1;
};

}  // namespace fathom::client::testing
