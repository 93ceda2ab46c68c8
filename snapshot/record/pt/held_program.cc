#include "snapshot/record/pt/held_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "snapshot/record/step/find_function.h"
#include "snapshot/record/step/launch.h"
#include "snapshot/record/step/tracee.h"

namespace fathom::snapshot {
namespace {

constexpr int kCannotRun = 127;

}  // namespace

HeldProgram::~HeldProgram() {
  if (pid_ <= 0 || released_ || gone_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, __WALL);
}

void HeldProgram::become(char* const* words, const Pipe& go, int fault) const {
  ::close(go.write.get());
  char byte = 0;
  if (::read(go.read.get(), &byte, 1) != 1) ::_exit(kCannotRun);
  ::execvp(words[0], words);
  const int error = errno;
  (void)!::write(fault, &error, sizeof error);
  ::_exit(kCannotRun);
}

// A failed exec() says so by the pipe that exec() closes.
Result<> HeldProgram::start(const std::vector<std::string>& command) {
  name_ = command.front();
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  auto go = make_pipe();
  auto fault = make_pipe();
  if (!go || !fault) return system_error("cannot start " + name_);
  pid_ = ::fork();
  if (pid_ < 0) return system_error("cannot start " + name_);
  if (pid_ == 0) become(words.data(), *go, fault->write.get());
  go_ = std::move(go->write);
  fault_ = std::move(fault->read);
  return {};
}

Result<> HeldProgram::start_mapped(const std::vector<std::string>& command) {
  name_ = command.front();
  auto launched = step::launch_seized(command);
  if (!launched) return launched.error();
  pid_ = *launched;
  traced_ = true;
  int status = 0;
  while (next_stop(status)) {
    if (status >> 16 == PTRACE_EVENT_EXEC) return {};
    step::tracee::run(pid_, status >> 16 == 0 ? WSTOPSIG(status) : 0);
  }
  gone_ = true;
  gone_status_ = status;
  return not_found("cannot start " + name_);
}

// False: it has ended.
bool HeldProgram::next_stop(int& status) const {
  while (::waitpid(pid_, &status, __WALL) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFSTOPPED(status);
}

bool HeldProgram::run_to_entry() {
  const std::array<uint64_t, 1> entry{step::program_entry(pid_)};
  if (entry[0] == 0 || !step::tracee::set_breakpoints(pid_, entry)) return true;
  int signal = 0;
  int status = 0;
  while (step::tracee::run(pid_, signal) && next_stop(status)) {
    signal = status >> 16 == 0 ? WSTOPSIG(status) : 0;
    if (signal != SIGTRAP || step::tracee::instruction_pointer(pid_) != entry[0]) continue;
    step::tracee::set_breakpoints(pid_, {});
    return true;
  }
  gone_ = true;
  gone_status_ = status;
  return false;
}

Result<> HeldProgram::release() {
  released_ = true;
  if (traced_) {
    if (!gone_) step::tracee::detach(pid_, 0);
    return {};
  }
  const char byte = 'g';
  if (::write(go_.get(), &byte, 1) != 1) return system_error("cannot start " + name_);
  int error = 0;
  if (::read(fault_.get(), &error, sizeof error) != sizeof error) return {};
  ::waitpid(pid_, nullptr, __WALL);
  gone_ = true;
  return not_found("cannot start " + name_ + ": " + std::strerror(error));
}

bool HeldProgram::ended(int& status) {
  if (!gone_) gone_ = ::waitpid(pid_, &gone_status_, WNOHANG | __WALL) == pid_;
  status = gone_status_;
  return gone_;
}

}  // namespace fathom::snapshot
