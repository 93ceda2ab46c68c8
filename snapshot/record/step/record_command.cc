#include "snapshot/record/step/record_command.h"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "snapshot/record/step/launch.h"
#include "snapshot/record/step/native_speed.h"

namespace fathom::snapshot::step {
namespace {

Stepper* running = nullptr;  // for the signal handler
pid_t command_pid = 0;

void on_signal(int signal) {
  if (running != nullptr) running->stop();
  if (signal == SIGTERM && command_pid != 0) ::kill(command_pid, SIGTERM);
}

// A terminal sends SIGINT to the command as well, so it needs no passing on. What the signals did before comes back at
// the end.
class EndSignals {
 public:
  EndSignals() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    ::sigaction(SIGINT, &action, &interrupt_before_);
    ::sigaction(SIGTERM, &action, &terminate_before_);
  }
  ~EndSignals() {
    ::sigaction(SIGINT, &interrupt_before_, nullptr);
    ::sigaction(SIGTERM, &terminate_before_, nullptr);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

 private:
  struct sigaction interrupt_before_ {};
  struct sigaction terminate_before_ {};
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

double slowdown_of(const Stepper& stepper) {
  if (stepper.instructions() == 0) return 0;
  return static_cast<double>(stepper.stepped_ticks()) / static_cast<double>(stepper.instructions()) /
         native_ticks_per_instruction();
}

Result<StepOutcome> finish(Recording& recording, const Stepper& stepper, const StepTrigger& trigger) {
  StepOutcome outcome;
  outcome.fault = trigger.fault();
  outcome.instructions = stepper.instructions();
  outcome.windows = stepper.windows();
  outcome.calls = stepper.calls();
  outcome.cut_off = stepper.cut_off();
  outcome.death = stepper.death();
  outcome.gaps = stepper.gaps();
  outcome.reached_limit = stepper.reached_limit();
  outcome.started = stepper.started();
  outcome.threads = recording.snapshot().streams.size();
  outcome.packet_bytes = recording.packet_bytes();
  if (outcome.windows == 0) return outcome;
  recording.lose("calls or spans cut off when recording ended", outcome.cut_off);
  outcome.slowdown = slowdown_of(stepper);
  recording.snapshot().slowdown = outcome.slowdown;
  outcome.trace_id = recording.snapshot().trigger.trace_id;
  outcome.locks = held_locks(recording.snapshot());
  auto id = recording.finish();
  if (!id) return id.error();
  outcome.id = *id;
  outcome.images = unkept_images(recording.snapshot());
  return outcome;
}

// Waits for the program's end. A thread that exits while it is released stays traced, and the program does not end
// before that thread is reaped: so every child is waited for, as the stepper does.
Result<int> wait_for(pid_t command) {
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, __WALL);
    if (ended == command && !WIFSTOPPED(status)) return status;
    if (ended < 0 && errno != EINTR) return system_error("cannot wait for the program");
  }
}

}  // namespace

Result<int> record_command(const SnapshotDirectory& directory, StepTrigger& trigger, const StepRequest& request) {
  auto recording = Recording::begin(directory, request.private_images);
  if (!recording) return recording.error();
  (*recording)->snapshot().command = joined(request.command);
  auto command = launch_seized(request.command, {.bind_now = request.bind_now});
  if (!command) return command.error();
  Stepper stepper(**recording, trigger, request.limits, request.observer);
  running = &stepper;
  command_pid = *command;
  const EndSignals signals;
  stepper.run(*command);
  running = nullptr;
  auto outcome = finish(**recording, stepper, trigger);
  if (outcome && request.written) request.written(*outcome);
  Result<int> status = stepper.wait_status() ? Result<int>(*stepper.wait_status()) : wait_for(*command);
  command_pid = 0;
  if (!outcome) return outcome.error();
  return status;
}

}  // namespace fathom::snapshot::step
