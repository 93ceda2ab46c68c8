#include "snapshot/record/step/launch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "snapshot/record/step/tracee.h"

namespace fathom::snapshot::step {
namespace {

constexpr int kCannotRun = 127;

constexpr const char* kBindNow = "LD_BIND_NOW";  // ld.so(8)

[[noreturn]] void run_command(const Pipe& go, char* const* words, LaunchOptions options) {
  char byte = 0;
  if (binds_now(options)) ::setenv(kBindNow, "1", 0);
  ::close(go.write.get());
  if (::read(go.read.get(), &byte, 1) != 1) ::_exit(kCannotRun);
  ::execvp(words[0], words);
  std::fprintf(stderr, "fathom-recorder: cannot run %s: %s\n", words[0], std::strerror(errno));
  ::_exit(kCannotRun);
}

}  // namespace

bool binds_now(LaunchOptions options) {
  return options.bind_now && ::getenv(kBindNow) == nullptr;
}

Result<pid_t> launch_seized(const std::vector<std::string>& command, LaunchOptions options) {
  std::vector<std::string> words = command;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  auto go = make_pipe();
  if (!go) return go.error();
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("cannot start the program");
  if (pid == 0) run_command(*go, pointers.data(), options);
  auto seized = tracee::seize(pid);
  if (seized && ::write(go->write.get(), "", 1) == 1) return pid;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, __WALL);
  return seized ? system_error("cannot start the program") : seized.error();
}

}  // namespace fathom::snapshot::step
