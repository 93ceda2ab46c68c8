#include "snapshot/record/pt/pt_command.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace fathom::snapshot {
namespace {

constexpr int kDrainMillis = 100;

// A child that waits for a byte, and then is the command. A failed exec() says so by the pipe that exec() closes.
class HeldCommand {
 public:
  HeldCommand() = default;
  HeldCommand(const HeldCommand&) = delete;
  ~HeldCommand() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  Result<int32_t> start(const std::vector<std::string>& command) {
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    auto go = make_pipe();
    auto fault = make_pipe();
    if (!go || !fault) return system_error("cannot start " + command.front());
    child_ = ::fork();
    if (child_ < 0) return system_error("cannot start " + command.front());
    if (child_ == 0) become(words.data(), go->read.get(), go->write.get(), fault->write.get());
    go_ = std::move(go->write);
    fault_ = std::move(fault->read);
    return child_;
  }

  Result<> release(const std::string& name) {
    const char byte = 'g';
    if (::write(go_.get(), &byte, 1) != 1) return system_error("cannot start " + name);
    int error = 0;
    if (::read(fault_.get(), &error, sizeof error) == sizeof error)
      return not_found("cannot start " + name + ": " + std::strerror(error));
    return {};
  }

  // Whether it has ended.
  bool ended(int& status) {
    if (::waitpid(child_, &status, WNOHANG) != child_) return false;
    child_ = -1;
    return true;
  }
  void end() const { ::kill(child_, SIGTERM); }

 private:
  [[noreturn]] static void become(char** words, int go, int other_end, int fault) {
    ::close(other_end);
    char byte = 0;
    if (::read(go, &byte, 1) != 1) ::_exit(127);
    ::execvp(words[0], words);
    const int error = errno;
    (void)!::write(fault, &error, sizeof error);
    ::_exit(127);
  }

  pid_t child_ = -1;
  Fd go_;
  Fd fault_;
};

int wait_for(HeldCommand& child, PtRecorder& recorder, const std::function<bool()>& interrupted) {
  int status = 0;
  while (!child.ended(status)) {
    std::vector<pollfd> events = recorder.poll_events();
    ::poll(events.data(), events.size(), kDrainMillis);
    (void)recorder.drain();
    if (interrupted && interrupted()) child.end();
  }
  return status;
}

}  // namespace

Result<PtCommandOutcome> record_pt_command(PerfSystem& system, const SnapshotDirectory& directory, PtOptions options,
                                           const std::vector<std::string>& command,
                                           const std::function<bool()>& interrupted) {
  if (command.empty()) return invalid("there is no command to record");
  HeldCommand child;
  auto pid = child.start(command);
  if (!pid) return pid.error();
  options.pids = {*pid};
  for (const std::string& word : command) options.command += (options.command.empty() ? "" : " ") + word;
  options.history_nano = kNanosPerHour * 24 * 365;  // a command is recorded as a whole
  auto recorder = PtRecorder::arm(system, directory, options);
  if (!recorder) return recorder.error();
  if (auto released = child.release(command.front()); !released) return released.error();
  PtCommandOutcome outcome;
  outcome.wait_status = wait_for(child, **recorder, interrupted);
  auto taken = (*recorder)->take({}, Trigger{.reason = "window", .tsc = 0, .tid = -1, .trace_id = {}, .span_id = {}});
  if (!taken) return taken.error();
  outcome.taken = *taken;
  return outcome;
}

}  // namespace fathom::snapshot
