// Threads and processes: how they begin, become another program, and end.
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "snapshot/record/step/find_function.h"
#include "snapshot/record/step/stepper.h"
#include "snapshot/record/step/tracee.h"

namespace fathom::snapshot::step {
namespace {

constexpr uint64_t kCodeSegment64 = 0x33;  // Linux's, in user mode

}  // namespace

StepProcess& Stepper::process_of(pid_t pid) {
  std::unique_ptr<StepProcess>& process = processes_[pid];
  if (process == nullptr) process = std::make_unique<StepProcess>(pid, recording_);
  return *process;
}

StepThread& Stepper::add_thread(pid_t tid, StepProcess& process) {
  auto thread = std::make_unique<StepThread>();
  thread->tid = tid;
  thread->process = &process;
  return *(threads_[tid] = std::move(thread));
}

// `maker` has made `tid`, which stops as soon as it runs, or has done so already. It is stepped where its maker is and
// all threads are wanted; else it gets back what its maker had before it was stepped.
void Stepper::on_birth(StepThread& maker, pid_t tid) {
  const pid_t pid = tracee::process_of(tid);
  if (pid == 0) return;
  StepProcess& process = process_of(pid);
  if (&process != maker.process) process.breakpoints = maker.process->breakpoints;
  StepThread& thread = add_thread(tid, process);
  thread.joins = maker.mode != StepMode::kFree && limits_.all_threads;
  thread.popped_flags = !thread.joins && maker.popped_flags;
  binding_.inherit(tid, maker.tid);
  if (thread.joins) {
    Sideband row = row_of(thread, SidebandKind::kFork);
    row.other_pid = maker.process->pid;
    row.other_tid = maker.tid;
    recording_.add(std::move(row));
  } else {
    binding_.release(tid);
  }
  const auto early = unborn_.find(tid);
  if (early == unborn_.end()) return;
  unborn_.erase(early);
  thread.stopped = true;
  if (thread.joins && !ending_) step_from_here(thread);
  resume(thread);
}

// All threads but the caller are gone, and it has the process's own id from now on.
StepThread& Stepper::on_exec(StepThread& first) {
  const auto former = static_cast<pid_t>(tracee::event_message(first.tid));
  if (former == first.tid || !threads_.contains(former)) {
    on_other_program(first);
    return first;
  }
  first.under_way = false;  // it ends here
  if (first.mode != StepMode::kFree) stop_recording(first);
  std::unique_ptr<StepThread> caller = std::move(threads_[former]);
  threads_.erase(former);
  if (caller->mode != StepMode::kFree) record_call(*caller, caller->ip);
  if (caller->flow != nullptr) caller->flow->flush();
  caller->expects = 0;
  caller->flow = std::move(first.flow);  // the stream of the id that it has from now on
  caller->tid = first.tid;
  caller->stopped = true;
  std::unique_ptr<StepThread>& place = threads_[caller->tid];
  place = std::move(caller);
  last_ = place.get();
  on_other_program(*last_);
  if (last_->mode == StepMode::kStepping) {
    open_stream(*last_);
    go_to(*last_, tracee::instruction_pointer(last_->tid));
  }
  return *last_;
}

void Stepper::on_other_program(StepThread& thread) {
  StepProcess& process = *thread.process;
  process.space.forget();
  process.sections.clear();
  process.breakpoints.clear();
  thread.armed = false;  // exec() took them away
  thread.under_way = false;
  thread.handlers = 0;
  thread.rseq_area = 0;
  if (process.recorded) {
    const uint64_t tsc = read_tsc();
    record_name(thread, tsc, kFlagExec);
    record_process(process, tsc);
  }
  if (thread.mode != StepMode::kFree && !is_64_bit(thread)) return leave_out(thread);
  const bool first = thread.tid == command_ && !std::exchange(started_, true);
  if (thread.mode != StepMode::kFree || ending_) return;
  const auto reason = trigger_.at_program(thread, first);
  if (reason && windows_begun_ < limits_.windows) begin_window(thread, *reason);
}

bool Stepper::is_64_bit(const StepThread& thread) const {
  const auto registers = tracee::registers(thread.tid);
  return registers && registers->cs == kCodeSegment64;
}

// Our packets and our instructions are those of 64-bit programs.
void Stepper::leave_out(StepThread& thread) {
  recording_.lose("programs of 32 bits", 1);
  thread.under_way = thread.owns_window = false;
  if (thread.mode != StepMode::kFree) stop_recording(thread);
}

namespace {

// All threads of a process end by the signal that one of them got.
bool is_killed(const StepThread& thread, int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == thread.handed_signal;
}

}  // namespace

void Stepper::record_exit(const StepThread& thread, int status) {
  Sideband row = row_of(thread, SidebandKind::kExit);
  if (is_killed(thread, status)) {
    row.length = static_cast<uint64_t>(thread.handed_signal);
    row.address = thread.ip;
    if (!death_) death_ = {thread.handed_signal, thread.tid, place_name(thread.process->space.code(), thread.ip)};
  }
  recording_.add(std::move(row));
}

void Stepper::on_end(pid_t tid, int status) {
  if (tid == command_) wait_status_ = status;
  unborn_.erase(tid);
  const auto at = threads_.find(tid);
  if (at == threads_.end()) return;
  StepThread& thread = *at->second;
  StepProcess* process = thread.process;
  const bool owned = std::exchange(thread.owns_window, false);
  thread.under_way = false;  // it ended with its thread: nobody has cut it off
  if (thread.mode != StepMode::kFree) {
    if ((thread.expects & kExpectCallEnd) != 0) record_call(thread, thread.ip);
    if (is_killed(thread, status)) thread.flow->comes_to(thread.ip, read_tsc());
    stop_recording(thread);
    record_exit(thread, status);
  }
  binding_.gone(tid);
  last_ = nullptr;
  threads_.erase(at);
  const bool alive = std::ranges::any_of(threads_, [&](const auto& other) { return other.second->process == process; });
  if (owned) windows_ended_++;
  if (!alive) {
    processes_.erase(process->pid);
  } else if (owned) {
    windows_ended_ >= limits_.windows ? let_everybody_go() : close_windows(*process);
  }
}

}  // namespace fathom::snapshot::step
