#include "client/testing/child_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace fathom::client::testing {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

ChildProgram::ChildProgram(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::abort();
  std::vector<std::string> all = environment;
  for (char** entry = environ; *entry != nullptr; entry++) {
    if (std::string(*entry).rfind("FATHOM_", 0) != 0) all.emplace_back(*entry);
  }
  const std::vector<char*> arguments = pointers(command), variables = pointers(all);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    execve(arguments[0], arguments.data(), variables.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  input_ = OwnedFd(in[1]);
  output_ = OwnedFd(out[0]);
}

ChildProgram::~ChildProgram() {
  kill();
}

std::string ChildProgram::line() {
  std::string text;
  char c;
  while (read(output_.get(), &c, 1) == 1 && c != '\n') text += c;
  return text;
}

void ChildProgram::say(const std::string& line) {
  const std::string text = line + "\n";
  // It may be dead, which is for the test to see and not to die of.
  signal(SIGPIPE, SIG_IGN);
  (void)!write(input_.get(), text.data(), text.size());
}

void ChildProgram::kill() {
  if (status_ != -1) return;
  ::kill(pid_, SIGKILL);
  wait();
}

int ChildProgram::wait() {
  if (status_ != -1) return status_;
  int status = 0;
  waitpid(pid_, &status, 0);
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return status_;
}

}  // namespace fathom::client::testing
