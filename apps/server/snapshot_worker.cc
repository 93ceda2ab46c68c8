#include "apps/server/snapshot_worker.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/server/worker_limits.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/thread_priority.h"
#include "base/time.h"
#include "cli/child.h"

namespace fathom {

namespace {

constexpr uint64_t kLookNano = 50'000'000;
constexpr const char* kWorker = "fathom-worker";

std::string beside_us() {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / kWorker).string();
}

// One of the child's outputs, until it ends.
struct Output {
  Fd end;
  size_t most;
  bool keep_on;  // what is beyond `most` is overlooked
  std::string bytes;
  bool full = false;

  // False: it has ended.
  bool take() {
    char buffer[kWorkerReadBytes];
    const ssize_t got = ::read(end.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    const size_t room = most - bytes.size();
    full = full || static_cast<size_t>(got) > room;
    bytes.append(buffer, std::min(static_cast<size_t>(got), room));
    return keep_on || !full;
  }
};

// "fathom-worker: there is ...", the last line that it said, without its name.
std::string last_words(std::string_view said) {
  while (!said.empty() && said.back() == '\n') said.remove_suffix(1);
  const size_t line = said.rfind('\n');
  if (line != std::string_view::npos) said.remove_prefix(line + 1);
  for (std::string_view name : {"fathom-worker: ", "fathom: "}) {
    if (said.starts_with(name)) said.remove_prefix(name.size());
  }
  return std::string(said);
}

Error too_long() {
  return exhausted("the answer is larger than " + std::to_string(kMostAnswerBytes) +
                   " bytes; ask for less of it: limit=N, or tid=N");
}

// Takes what comes until both outputs have ended, or one must not go on, or the budget is over.
Result<> read_both(Output& answer, Output& said, store::QueryBudget& budget) {
  for (bool answer_open = true, said_open = true; answer_open || said_open;) {
    if (auto going_on = budget.check(); !going_on) return going_on.error();
    pollfd ends[2] = {{answer_open ? answer.end.get() : -1, POLLIN, 0}, {said_open ? said.end.get() : -1, POLLIN, 0}};
    if (::poll(ends, 2, kWorkerLookMs) <= 0) continue;
    if (ends[0].revents != 0) answer_open = answer.take();
    if (answer.full) return too_long();
    if (ends[1].revents != 0) said_open = said.take();
  }
  return {};
}

// One that has closed its outputs ends soon, or must.
Result<int> end_of(cli::Child& child, store::QueryBudget& budget) {
  while (true) {
    if (auto status = child.wait(kLookNano)) return *status;
    if (auto going_on = budget.check(); !going_on) return going_on.error();
  }
}

Result<std::string> run(const std::vector<std::string>& command, store::QueryBudget& budget) {
  if (::access(command.front().c_str(), X_OK) != 0) return worker_missing(command.front());
  yield_to_requests();  // and so does the child: decoding takes all processors that it can get
  auto out = make_pipe();
  auto err = make_pipe();
  if (!out || !err) return internal("there are no descriptors left to ask fathom-worker");
  auto child = cli::Child::start({.command = command,
                                  .directory = "",
                                  .descriptors = {{STDOUT_FILENO, out->write.get()}, {STDERR_FILENO, err->write.get()}},
                                  .environment = {},
                                  .own_pid_variable = ""});
  if (!child) return child.error();
  out->write.close();
  err->write.close();
  Output answer{std::move(out->read), kMostAnswerBytes, false, {}};
  Output said{std::move(err->read), kMostWorkerWordsBytes, true, {}};
  if (auto read = read_both(answer, said, budget); !read) return read.error();
  auto status = end_of(*child, budget);
  if (!status) return status.error();
  if (*status != 0) return worker_failure(*status, said.bytes);
  return std::move(answer.bytes);
}

}  // namespace

Error worker_failure(int wait_status, std::string_view said) {
  std::string words = last_words(said);
  if (WIFSIGNALED(wait_status) || words.empty()) {
    words = "fathom-worker " + cli::describe_exit(wait_status) + (words.empty() ? "" : ": " + words);
  }
  const int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  if (status == 1) return not_found(words);
  if (status == 2) return invalid(words);
  return internal(words);
}

Error worker_missing(const std::string& program) {
  return {ErrorCode::kUnsupported, program + " is missing; it works out answers about snapshots"};
}

std::string worker_program(const std::string& program) {
  return program.empty() ? beside_us() : program;
}

void warn_if_missing(const std::string& program) {
  const std::string path = worker_program(program);
  if (::access(path.c_str(), X_OK) == 0) return;
  log_warning("--snapshot-worker: " + path + " cannot be run (" + std::strerror(errno) +
              "), and nobody is answered about snapshots; install fathom-worker, or name where it is");
}

void warn_if_unsafe(bool is_unsafe) {
  if (!is_unsafe) return;
  log_warning(
      "--unsafe-worker: snapshots are decoded even if the kernel cannot confine the decoder; a hostile snapshot can "
      "then "
      "read and change what this server can; remove the key unless this host lacks Landlock or seccomp");
}

query::RunWorker snapshot_worker(const std::string& program, bool is_unsafe) {
  std::vector<std::string> command{worker_program(program)};
  if (is_unsafe) command.emplace_back(kUnsafeWorker);
  return [command](const std::vector<std::string>& words, store::QueryBudget& budget) {
    std::vector<std::string> whole = command;
    whole.insert(whole.end(), words.begin(), words.end());
    return run(whole, budget);
  };
}

}  // namespace fathom
