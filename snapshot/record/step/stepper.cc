#include "snapshot/record/step/stepper.h"

#include <sys/time.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "snapshot/record/step/tracee.h"

namespace fathom::snapshot::step {
namespace {

constexpr int kTrapStop = SIGTRAP << 8 | 0x7f;  // a wait status: SIGTRAP, and no event of ptrace
constexpr uint64_t kTickNano = 20'000'000;

// Wakes us out of waiting, again and again: what a signal handler noted is thus seen, whenever it came.
void tick_each(uint64_t nano) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &action, nullptr);
  itimerval timer{};
  timer.it_interval.tv_usec = static_cast<suseconds_t>(nano / 1000);
  timer.it_value = timer.it_interval;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

Stepper::Stepper(Recording& recording, StepTrigger& trigger, const StepLimits& limits, StepObserver observer)
    : recording_(recording),
      trigger_(trigger),
      limits_(limits),
      observer_(std::move(observer)),
      steps_left_(limits.most_steps) {}

Stepper::~Stepper() = default;

void Stepper::run(pid_t command) {
  command_ = command;
  add_thread(command, process_of(command));
  tick_each(trigger_.poll_nano() != 0 ? trigger_.poll_nano() : kTickNano);
  while (!threads_.empty()) {
    int status = 0;
    const pid_t tid = ::waitpid(-1, &status, __WALL);
    if (tid > 0) {
      on_event(tid, status);
      // Where threads stop all the time, no tick comes.
      if (stopping_.load(std::memory_order_relaxed)) let_everybody_go();
    } else if (errno == EINTR) {
      on_tick();
    } else {
      break;
    }
  }
  tick_each(0);
}

void Stepper::on_event(pid_t tid, int status) {
  if (last_ == nullptr || last_->tid != tid) {
    const auto at = threads_.find(tid);
    last_ = at == threads_.end() ? nullptr : at->second.get();
  }
  if (!WIFSTOPPED(status)) return on_end(tid, status);
  if (last_ == nullptr) {
    unborn_[tid] = status;
    return;
  }
  last_->stopped = true;
  on_stop(*last_, status);
}

void Stepper::on_stop(StepThread& thread, int status) {
  const int event = status >> 16;
  const int signal = WSTOPSIG(status);
  if (status == kTrapStop && thread.mode == StepMode::kStepping) {
    on_trap(thread);
  } else if (event != 0) {
    return on_ptrace_event(thread, event, signal);
  } else {
    on_signal(thread, signal);
  }
  resume(thread);
}

void Stepper::on_ptrace_event(StepThread& thread, int event, int signal) {
  if (event == PTRACE_EVENT_EXEC) return resume(on_exec(thread));
  if (event == PTRACE_EVENT_STOP) {
    if (on_interrupt(thread, signal)) return;
  } else {
    on_birth(thread, static_cast<pid_t>(tracee::event_message(thread.tid)));
  }
  resume(thread);
}

// By us, or by a signal that stops the whole process: then it goes on with the one that continues it (true).
bool Stepper::on_interrupt(StepThread& thread, int signal) {
  if (thread.mode != StepMode::kFree) {
    const uint64_t ip = tracee::instruction_pointer(thread.tid);
    if (thread.mode == StepMode::kRunningOver) end_run_over(thread, ip);
    settle_system_call(thread, ip);
  }
  if (thread.tid == awaited_) {
    awaited_ = 0;
    const bool free = thread.mode == StepMode::kFree && !ending_;
    const auto reason = free ? trigger_.at_interrupt(thread) : std::nullopt;
    if (reason) begin_own_window(thread, *reason);
  }
  if (thread.joins && thread.mode == StepMode::kFree && !ending_) step_from_here(thread);
  const bool group_stop = signal != SIGTRAP && !ending_;
  if (group_stop) thread.stopped = !tracee::listen(thread.tid);
  return group_stop;
}

void Stepper::resume(StepThread& thread) {
  if (ending_) return release(thread);
  if (thread.mode == StepMode::kStepping) return resume_step(thread);
  thread.stopped = false;
  drop_popped_flags(thread);
  arm(thread);
  tracee::run(thread.tid, std::exchange(thread.signal, 0));
}

// The kernel takes our trap flag for the program's own: it would be stepped, with nobody to hold it.
void Stepper::drop_popped_flags(StepThread& thread) {
  if (std::exchange(thread.popped_flags, false)) tracee::clear_trap_flag(thread.tid);
}

void Stepper::arm(StepThread& thread) {
  const std::vector<uint64_t>& breakpoints = thread.process->breakpoints;
  if (thread.mode != StepMode::kFree || thread.armed || breakpoints.empty()) return;
  thread.armed = tracee::set_breakpoints(thread.tid, breakpoints);
}

void Stepper::resume_step(StepThread& thread) {
  if (std::exchange(thread.leaves, false)) {
    stop_recording(thread);
    return resume(thread);
  }
  const bool in_call = (thread.expects & (kExpectCallEnd | kExpectRestart)) != 0;
  if (!in_call && thread.instruction.kind == InstructionKind::kSystemCall) begin_system_call(thread);
  if (thread.expects == 0 && thread.signal == 0 && begin_run_over(thread)) return;
  thread.stopped = false;
  tracee::step(thread.tid, std::exchange(thread.signal, 0));
}

// A trap that waits behind another stop would kill a program that nobody holds.
void Stepper::release(StepThread& thread) {
  if (thread.mode == StepMode::kStepping && tracee::has_pending_trap(thread.tid)) {
    thread.stopped = false;
    tracee::run(thread.tid, std::exchange(thread.signal, 0));
    return;
  }
  if (thread.mode != StepMode::kFree) stop_recording(thread);
  drop_popped_flags(thread);
  if (thread.armed) tracee::set_breakpoints(thread.tid, {});
  binding_.release(thread.tid);
  tracee::detach(thread.tid, thread.signal);
  if (last_ == &thread) last_ = nullptr;
  threads_.erase(thread.tid);
}

void Stepper::let_everybody_go() {
  if (ending_) return;
  ending_ = true;
  for (const auto& [tid, thread] : threads_) {
    if (!thread->stopped) tracee::interrupt(tid);
  }
}

void Stepper::on_tick() {
  if (stopping_.load(std::memory_order_relaxed)) return let_everybody_go();
  if (ending_ || awaited_ != 0) return;
  const uint64_t now = read_tsc();
  for (const auto& [tid, thread] : threads_) {
    const bool late = thread->mode == StepMode::kRunningOver && now > thread->run_over_until_tsc;
    if (late) tracee::interrupt(tid);
  }
  if (windows_begun_ == limits_.windows) return;
  const auto late = threads_.find(trigger_.poll());
  // One that is stepped is late because of that.
  const bool begins = late != threads_.end() && late->second->mode == StepMode::kFree;
  if (begins && tracee::interrupt(late->first)) awaited_ = late->first;
}

}  // namespace fathom::snapshot::step
