#include "bench/tracers/subprocess.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/time.h"

extern char** environ;

namespace fathom::bench::tracers {

namespace {

std::vector<std::string> whole_environment(const Environment& more) {
  std::vector<std::string> all;
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  for (char** at = environ; *at != nullptr; ++at) all.emplace_back(*at);  // of equal names the first counts
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

struct Ends {
  int in, out, err;
};

// In the child: nothing but system calls.
[[noreturn]] void become(const Ends& ends, char** words, char** environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(ends.in, 0);
  ::dup2(ends.out, 1);
  ::dup2(ends.err, 2);
  ::execvpe(words[0], words, environment);
  ::_exit(127);
}

Result<pid_t> fork_into(const Command& command, const Ends& ends) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = whole_environment(command.environment);
  std::vector<char*> word_pointers = pointers(words), environment_pointers = pointers(environment);
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("cannot start " + words[0]);
  if (pid == 0) become(ends, word_pointers.data(), environment_pointers.data());
  return pid;
}

int status_of(int waited) {
  return WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited);
}

// All that comes until the other end closes; false when that takes longer than until `deadline_nano`.
bool read_all(int fd, uint64_t deadline_nano, std::string& out) {
  char bytes[4096];
  while (true) {
    const uint64_t now = now_monotonic_nano();
    pollfd wanted{fd, POLLIN, 0};
    if (now >= deadline_nano || ::poll(&wanted, 1, static_cast<int>((deadline_nano - now) / 1'000'000) + 1) == 0)
      return false;
    const ssize_t count = ::read(fd, bytes, sizeof bytes);
    if (count == 0) return true;
    if (count > 0) out.append(bytes, static_cast<size_t>(count));
  }
}

}  // namespace

Result<std::unique_ptr<Subprocess>> Subprocess::start(const Command& command) {
  Result<Pipe> to = make_pipe(), from = make_pipe();
  if (!to) return to.error();
  if (!from) return from.error();
  const Fd log(::open(command.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  Result<pid_t> pid = fork_into(command, {to->read.get(), from->write.get(), log.get()});
  if (!pid) return pid.error();
  ::signal(SIGPIPE, SIG_IGN);  // a program that has ended is an error of ask()
  return std::unique_ptr<Subprocess>(new Subprocess(*pid, std::move(to->write), std::move(from->read)));
}

Subprocess::~Subprocess() {
  stop(SIGTERM);
}

Result<std::string> Subprocess::ask(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(to_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return unavailable("a program has ended before its time");
  return read_line();
}

Result<std::string> Subprocess::read_line() {
  char bytes[4096];
  size_t end = std::string::npos;
  while ((end = read_.find('\n')) == std::string::npos) {
    const ssize_t count = ::read(from_.get(), bytes, sizeof bytes);
    if (count <= 0) return unavailable("a program has ended instead of answering");
    read_.append(bytes, static_cast<size_t>(count));
  }
  std::string answer = read_.substr(0, end);
  read_.erase(0, end + 1);
  return answer;
}

bool Subprocess::running() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

void Subprocess::stop(int signal) {
  to_.close();
  if (!running()) return;
  ::kill(pid_, signal);
  const uint64_t deadline = now_monotonic_nano() + 10 * kNanosPerSecond;
  while (running()) {
    if (now_monotonic_nano() > deadline) ::kill(pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Result<Ended> run_to_end(const Command& command, int limit_seconds) {
  Result<Pipe> from = make_pipe();
  if (!from) return from.error();
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Result<pid_t> pid = fork_into(command, {nothing.get(), from->write.get(), from->write.get()});
  if (!pid) return pid.error();
  from->write.close();
  Ended ended;
  const uint64_t deadline = now_monotonic_nano() + static_cast<uint64_t>(limit_seconds) * kNanosPerSecond;
  const bool in_time = read_all(from->read.get(), deadline, ended.output);
  if (!in_time) ::kill(*pid, SIGKILL);
  int waited = 0;
  rusage used{};
  ::wait4(*pid, &waited, 0, &used);
  ended.status = status_of(waited);
  ended.rss_max_mib = static_cast<double>(used.ru_maxrss) / 1024;
  if (!in_time) return unavailable(command.words[0] + " did not end in " + std::to_string(limit_seconds) + " s");
  return ended;
}

bool program_is_installed(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace fathom::bench::tracers
