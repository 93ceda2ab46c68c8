#include "bench/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/fd.h"
#include "base/time.h"

extern char** environ;

namespace fathom::bench {

namespace {

constexpr int kReadyFd = 3;

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> all;
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  for (char** at = environ; *at != nullptr; ++at) all.emplace_back(*at);  // of equal names the first counts
  return all;
}

// Everything up to the first newline; what there is when the writer closes without one.
std::string read_line(int fd) {
  std::string line;
  char byte = 0;
  while (::read(fd, &byte, 1) == 1 && byte != '\n') line.push_back(byte);
  return line;
}

// Fields after the command's name of /proc/PID/stat; the name may hold spaces, so it is skipped by its parenthesis.
std::vector<std::string> stat_fields(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  size_t close = text.rfind(')');
  if (close == std::string::npos) return {};
  std::istringstream rest(text.substr(close + 1));
  return {std::istream_iterator<std::string>(rest), {}};
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + time.tv_usec / 1e6;
}

// In the child: nothing but system calls. It ends with us, however we do: a benchmark that is interrupted leaves nobody
// behind who keeps its ports and its data.
[[noreturn]] void become(char** words, char** environment, int log, int ready, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // we died before the line above
  ::dup2(log, 1);
  ::dup2(log, 2);
  ::dup2(ready, kReadyFd);
  ::execve(words[0], words, environment);
  ::_exit(127);
}

}  // namespace

std::vector<char*> exec_pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Result<std::string> ChildProcess::start(const ChildOptions& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return internal("pipe2: " + std::string(std::strerror(errno)));
  Result<std::string> spawned = spawn(options, ends[1]);
  ::close(ends[1]);
  std::string line = spawned ? read_line(ends[0]) : "";
  ::close(ends[0]);
  if (!spawned) return spawned;
  if (line.empty()) return unavailable(options.command[0] + " ended before it was ready; see " + options.log_path);
  return line;
}

Result<std::string> ChildProcess::spawn(const ChildOptions& options, int ready_write) {
  std::vector<std::string> command = options.command;
  command.insert(command.end(), {"--ready-fd", std::to_string(kReadyFd)});
  std::vector<std::string> environment = environment_with(options.environment);
  std::vector<char*> words = exec_pointers(command), variables = exec_pointers(environment);
  if (::access(command[0].c_str(), X_OK) != 0) return system_error("cannot start " + command[0]);
  const Fd log(::open(options.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  // Above 3, so that the duplicate at 3 is another one and loses the close-on-exec mark.
  const Fd ready(::fcntl(ready_write, F_DUPFD_CLOEXEC, kReadyFd + 1));
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(words.data(), variables.data(), log.get(), ready.get(), parent);
  if (pid < 0) return system_error("cannot start " + command[0]);
  pid_ = pid;
  return std::string();
}

double ChildProcess::cpu_seconds() const {
  std::vector<std::string> fields = stat_fields(pid_);
  if (fields.size() < 13) return 0;
  double ticks = std::stod(fields[11]) + std::stod(fields[12]);  // utime, stime
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double ChildProcess::rss_max_mib() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) rss_seen_mib_ = std::max(rss_seen_mib_, std::stod(line.substr(6)) / 1024);
  }
  return rss_seen_mib_;
}

bool ChildProcess::running() const {
  std::vector<std::string> fields = stat_fields(pid_);
  return pid_ > 0 && !fields.empty() && fields[0] != "Z";
}

bool ChildProcess::wait_until_idle(double share, double limit_seconds) const {
  constexpr double kWindowSeconds = 2;
  uint64_t deadline = now_monotonic_nano() + static_cast<uint64_t>(limit_seconds * 1e9);
  while (now_monotonic_nano() < deadline && running()) {
    double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(kWindowSeconds));
    if (cpu_seconds() - before < share * kWindowSeconds) return true;
  }
  return false;
}

// Looks at VmHWM while the child ends: ru_maxrss is of no use here, it inherits the memory of whoever spawned the
// child.
Result<ChildUsage> ChildProcess::stop() {
  if (pid_ <= 0) return internal("no child to stop");
  ::kill(pid_, SIGTERM);
  int status = 0;
  rusage usage{};
  pid_t ended = 0;
  while (ended == 0) {
    rss_max_mib();
    ended = ::wait4(pid_, &status, WNOHANG, &usage);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (ended != pid_) return internal("wait4: " + std::string(std::strerror(errno)));
  pid_ = -1;
  int exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ChildUsage{seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), rss_seen_mib_, exit_status};
}

}  // namespace fathom::bench
