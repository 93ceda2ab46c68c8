#include "cli/child.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/time.h"

namespace fathom::cli {

namespace {

constexpr size_t kCaptureBytes = 64 * 1024;

// What the new process needs after fork(): made before, because between fork() and exec() memory may not be allocated.
struct Prepared {
  std::vector<char*> argv;
  std::vector<std::string> variables;
  std::vector<char*> envp;
  char* own_pid = nullptr;  // where its digits go; room for kPidDigits of them
  std::vector<std::pair<int, int>> descriptors;
  int dev_null = -1;
  int error_pipe = -1;
  const char* directory = nullptr;
  pid_t parent = 0;
};

constexpr size_t kPidDigits = 10;
constexpr int kLeastErrorEnd = 64;

bool is_variable(const char* entry, const std::string& name) {
  return std::strncmp(entry, name.c_str(), name.size()) == 0 && entry[name.size()] == '=';
}

bool is_replaced(const char* entry, const ChildOptions& options) {
  for (const auto& [name, value] : options.environment) {
    if (is_variable(entry, name)) return true;
  }
  return !options.own_pid_variable.empty() && is_variable(entry, options.own_pid_variable);
}

void prepare_environment(const ChildOptions& options, Prepared& prepared) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!is_replaced(*entry, options)) prepared.envp.push_back(*entry);
  }
  for (const auto& [name, value] : options.environment) {
    if (value) prepared.variables.push_back(name + "=" + *value);
  }
  if (!options.own_pid_variable.empty()) {
    prepared.variables.push_back(options.own_pid_variable + "=" + std::string(kPidDigits, '\0'));
    prepared.own_pid = prepared.variables.back().data() + options.own_pid_variable.size() + 1;
  }
  for (std::string& variable : prepared.variables) prepared.envp.push_back(variable.data());
  prepared.envp.push_back(nullptr);
}

int highest_target(const ChildOptions& options) {
  int highest = STDERR_FILENO;
  for (auto [target, ours] : options.descriptors) highest = std::max(highest, target);
  return highest;
}

[[noreturn]] void end_unstarted(const Prepared& prepared) {
  int reason = errno;
  [[maybe_unused]] ssize_t written = ::write(prepared.error_pipe, &reason, sizeof reason);
  ::_exit(127);
}

void reset_signals() {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number : {SIGPIPE, SIGINT, SIGTERM, SIGCHLD}) ::sigaction(number, &standard, nullptr);
}

// SIGKILL, because a parent that died without stopping us is started again soon, and needs our ports and our data
// directory; what was acknowledged is durable in any case.
void die_with_parent(const Prepared& prepared) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != prepared.parent) ::_exit(127);  // it died before the line above
}

// Those of ours whose numbers are asked for move out of the way: placing one may not close another.
void clear_targets(Prepared& prepared) {
  int highest = STDERR_FILENO;
  for (auto [target, ours] : prepared.descriptors) highest = std::max(highest, target);
  for (auto& [target, ours] : prepared.descriptors) {
    if (ours > highest || ours == target) continue;
    ours = ::fcntl(ours, F_DUPFD_CLOEXEC, highest + 1);
    if (ours < 0) end_unstarted(prepared);
  }
}

void place_descriptors(Prepared& prepared) {
  clear_targets(prepared);
  if (::dup2(prepared.dev_null, STDIN_FILENO) < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) end_unstarted(prepared);
  for (auto [target, ours] : prepared.descriptors) {
    // dup2() onto itself would keep close-on-exec.
    bool placed = target == ours ? ::fcntl(ours, F_SETFD, 0) == 0 : ::dup2(ours, target) >= 0;
    if (!placed) end_unstarted(prepared);
  }
}

// By hand, because what formats numbers may take memory.
void write_own_pid(const Prepared& prepared) {
  if (prepared.own_pid == nullptr) return;
  char digits[kPidDigits];
  size_t count = 0;
  for (pid_t left = ::getpid(); left > 0 && count < kPidDigits; left /= 10) {
    digits[count++] = static_cast<char>('0' + left % 10);
  }
  for (size_t i = 0; i < count; ++i) prepared.own_pid[i] = digits[count - 1 - i];
}

[[noreturn]] void become(Prepared& prepared) {
  reset_signals();
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);  // whatever libraries forgot to mark
  ::setpgid(0, 0);
  die_with_parent(prepared);
  place_descriptors(prepared);
  if (prepared.directory != nullptr && ::chdir(prepared.directory) != 0) end_unstarted(prepared);
  write_own_pid(prepared);
  ::execvpe(prepared.argv[0], prepared.argv.data(), prepared.envp.data());
  end_unstarted(prepared);
}

// Nothing when exec() succeeded: the pipe then closed without a word.
std::optional<int> exec_failure(int error_pipe) {
  int reason = 0;
  ssize_t size;
  do {
    size = ::read(error_pipe, &reason, sizeof reason);
  } while (size < 0 && errno == EINTR);
  if (size == static_cast<ssize_t>(sizeof reason)) return reason;
  return std::nullopt;
}

Error cannot_start(const ChildOptions& options, int reason) {
  std::string where = options.directory.empty() ? "" : " in " + options.directory;
  return internal("cannot start " + options.command.front() + where + ": " + std::strerror(reason));
}

}  // namespace

std::string describe_exit(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return "ended with status " + std::to_string(WEXITSTATUS(wait_status));
  int number = WTERMSIG(wait_status);
  return "was killed by signal " + std::to_string(number) + " (" + ::strsignal(number) + ")";
}

Result<Child> Child::start(const ChildOptions& options) {
  Result<Pipe> error_pipe = make_pipe();
  if (!error_pipe) return error_pipe.error();
  Fd dev_null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  // Above every number that a child may ask for, so that placing those cannot close it.
  int above = std::max(kLeastErrorEnd, highest_target(options) + 1);
  Fd error_end(::fcntl(error_pipe->write.get(), F_DUPFD_CLOEXEC, above));
  error_pipe->write.close();
  Prepared prepared;
  for (const std::string& word : options.command) prepared.argv.push_back(const_cast<char*>(word.c_str()));
  prepared.argv.push_back(nullptr);
  prepare_environment(options, prepared);
  prepared.descriptors = options.descriptors;
  prepared.dev_null = dev_null.get();
  prepared.error_pipe = error_end.get();
  prepared.directory = options.directory.empty() ? nullptr : options.directory.c_str();
  prepared.parent = ::getpid();
  pid_t pid = ::fork();
  if (pid < 0) return system_error("cannot start a process");
  if (pid == 0) become(prepared);
  error_end.close();
  auto reason = exec_failure(error_pipe->read.get());
  Child child(pid);
  if (reason) return cannot_start(options, *reason);  // the destructor reaps it
  return child;
}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    kill_and_reap();
    pid_ = std::exchange(other.pid_, 0);
  }
  return *this;
}

void Child::signal(int number) const {
  if (pid_ != 0) ::kill(pid_, number);
}

std::optional<int> Child::poll() {
  if (pid_ == 0) return std::nullopt;
  int status = 0;
  pid_t ended;
  do {
    ended = ::waitpid(pid_, &status, WNOHANG);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return std::nullopt;
  kill_group();
  pid_ = 0;
  return status;
}

std::optional<int> Child::wait(uint64_t timeout_nano) {
  if (pid_ == 0) return std::nullopt;
  Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  uint64_t deadline = now_monotonic_nano() + timeout_nano;
  for (uint64_t now = now_monotonic_nano(); now < deadline; now = now_monotonic_nano()) {
    pollfd ended{handle.get(), POLLIN, 0};
    int left_ms = static_cast<int>(std::min<uint64_t>((deadline - now) / 1'000'000 + 1, INT_MAX));
    if (::poll(&ended, 1, left_ms) > 0) break;
  }
  return poll();
}

// What it started and did not end itself; they would hold our standard error, and the demo's directory.
void Child::kill_group() const {
  ::kill(-pid_, SIGKILL);
}

void Child::kill_and_reap() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  kill_group();
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

Result<std::string> run_and_capture(const std::vector<std::string>& command, uint64_t timeout_nano) {
  Result<Pipe> output = make_pipe();
  if (!output) return output.error();
  Fd quiet(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Result<Child> child = Child::start({command, "", {{1, output->write.get()}, {2, quiet.get()}}});
  if (!child) return child.error();
  output->write.close();
  auto status = child->wait(timeout_nano);
  if (!status) return Error{ErrorCode::kDeadline, command.front() + " did not end in time"};
  if (*status != 0) return internal(command.front() + " " + describe_exit(*status));
  // It ended, so whatever fits the pipe is there (64 KiB on Linux); more than that would have kept it from ending.
  std::string text(kCaptureBytes, '\0');
  ssize_t size = ::read(output->read.get(), text.data(), text.size());
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

}  // namespace fathom::cli
