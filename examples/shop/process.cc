#include "process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace shop {

namespace {

[[noreturn]] void become(const char* path, char** words, int output, pid_t parent) {
  setpgid(0, 0);  // so that Ctrl-C reaches only the one that stops us in order
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  dup2(output, STDOUT_FILENO);
  execv(path, words);
  _exit(127);
}

}  // namespace

Process::Process(const std::vector<std::string>& words) {
  std::vector<char*> pointers{const_cast<char*>("shop")};
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  // Not /proc/self/exe: the kernel would call its threads so.
  std::error_code unreadable;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(path.c_str(), pointers.data(), ends[1], parent);
  if (pid_ < 0) pid_ = 0;
  close(ends[1]);
  output_ = ends[0];
}

Process::~Process() {
  if (pid_ != 0) kill(pid_, SIGKILL);
  wait();
  if (output_ >= 0) close(output_);
}

std::string Process::first_line() {
  std::string line;
  char c = 0;
  while (read(output_, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

bool Process::running() {
  if (pid_ == 0) return false;
  if (waitpid(pid_, &status_, WNOHANG) == 0) return true;
  pid_ = 0;
  return false;
}

void Process::stop() {
  if (pid_ != 0) kill(pid_, SIGTERM);
}

int Process::wait() {
  while (pid_ != 0 && waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 1;
}

}  // namespace shop
