// Windows: from where to where a thread is stepped, and what is told of it at both ends.
#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "base/time.h"
#include "snapshot/record/step/lock_wait.h"
#include "snapshot/record/step/stepper.h"
#include "snapshot/record/step/tracee.h"

namespace fathom::snapshot::step {

Sideband Stepper::row_of(const StepThread& thread, SidebandKind kind) const {
  Sideband row;
  row.kind = kind;
  row.tsc = read_tsc();
  row.pid = thread.process->pid;
  row.tid = thread.tid;
  return row;
}

void Stepper::record_name(const StepThread& thread, uint64_t tsc, uint32_t flags) {
  Sideband row = row_of(thread, SidebandKind::kName);
  row.tsc = tsc;
  row.flags = flags;
  row.text = read_proc_file("/proc/" + std::to_string(thread.tid) + "/comm");
  while (row.text.ends_with('\n')) row.text.pop_back();
  recording_.add(std::move(row));
}

void Stepper::record_process(StepProcess& process, uint64_t tsc) {
  process.space.look_at_maps(process.recorded ? tsc : 0);
  process.recorded = true;
}

// Records the holder of the lock that a thread sleeps for, at the begin of a window or later.
void Stepper::record_lock_wait(const StepThread& thread, const user_regs_struct& registers) {
  const StepProcess& process = *thread.process;
  LockWaitSources sources;
  sources.read_word = [&](uint64_t address) -> std::optional<uint32_t> {
    std::array<uint8_t, sizeof(uint32_t)> bytes{};
    if (process.space.read(address, bytes) != bytes.size()) return std::nullopt;
    return std::bit_cast<uint32_t>(bytes);
  };
  sources.is_thread = [&](pid_t tid) {
    const auto found = threads_.find(tid);
    return found != threads_.end() && found->second->process == &process;
  };
  const auto wait = lock_wait(thread.tid, registers, sources);
  if (!wait) return;
  Sideband row = row_of(thread, SidebandKind::kLockWait);
  row.address = wait->address;
  row.other_pid = process.pid;
  row.other_tid = wait->holder;
  row.text = wait->lock;
  recording_.add(std::move(row));
}

// Instructions of `thread` run unrecorded, from where it is until it is stepped again.
void Stepper::record_gap(StepThread& thread, const std::string& why, const std::string& loss) {
  thread.flow->pause(thread.ip, read_tsc());
  add_gap(thread, why, 0);
  recording_.lose(loss, 1);
}

void Stepper::add_gap(const StepThread& thread, const std::string& why, uint32_t flags) {
  Sideband row = row_of(thread, SidebandKind::kGap);
  row.flags = flags;
  row.address = thread.ip;
  row.text = why;
  recording_.add(std::move(row));
  gaps_++;
}

void Stepper::begin_window(StepThread& thread, const WindowReason& reason) {
  if (windows_begun_++ == 0) {
    Trigger& trigger = recording_.snapshot().trigger;
    trigger = {reason.reason, read_tsc(), thread.tid, reason.trace_id, reason.span_id};
  }
  step_from_here(thread);
  if (!limits_.all_threads) return;
  for (const auto& [tid, other] : threads_) {
    const bool joins = other->process == thread.process && other->mode == StepMode::kFree;
    if (!joins) continue;
    other->joins = true;
    if (other->stopped) continue;
    other->asked_tsc = read_tsc();
    tracee::interrupt(tid);
  }
}

// What it waited for begins in `thread`, and trigger_.ends() says where it ends.
void Stepper::begin_own_window(StepThread& thread, const WindowReason& reason) {
  thread.under_way = true;
  thread.owns_window = true;
  begin_window(thread, reason);
}

bool Stepper::is_at_function(const StepThread& thread) const {
  const StepProcess& process = *thread.process;
  return std::ranges::find(process.breakpoints, thread.ip) != process.breakpoints.end() && !process.awaits_libraries &&
         trigger_.begins_at_breakpoints();
}

// A call that is recorded. Where it is none of one that is recorded already, it is a window of its own while there are
// some left, and else is only watched, to tell whether it was over in the end.
void Stepper::enter_function(StepThread& thread) {
  calls_++;
  if (thread.under_way) return;
  trigger_.at_breakpoint(thread);
  thread.under_way = true;
  thread.owns_window = windows_begun_ < limits_.windows;
  if (!thread.owns_window) return;
  thread.leaves = false;
  windows_begun_++;
}

void Stepper::open_stream(StepThread& thread) {
  if (thread.flow == nullptr) {
    const size_t stream = recording_.add_stream(thread.process->pid, thread.tid);
    thread.flow = std::make_unique<FlowWriter>(
        recording_.ratio(), [this, stream](std::span<const uint8_t> bytes) { recording_.packets(stream, bytes); });
    record_name(thread, 0, 0);
  }
  thread.flow->begin(read_tsc());
}

void Stepper::step_from_here(StepThread& thread) {
  thread.joins = false;
  const uint64_t asked_tsc = std::exchange(thread.asked_tsc, 0);
  if (!is_64_bit(thread)) return leave_out(thread);
  thread.mode = StepMode::kStepping;
  begin_stepping(*thread.process);
  thread.handlers = 0;
  if (thread.armed) thread.armed = !tracee::set_breakpoints(thread.tid, {});
  const uint64_t tsc = read_tsc();
  record_process(*thread.process, tsc);
  binding_.bind(thread.tid);
  // Nobody knows what it did since an earlier window: calls of this one are not made by those of that one.
  if (thread.flow != nullptr) add_gap(thread, "what ran between two windows was not asked for", kFlagWindow);
  open_stream(thread);
  thread.in_calls_ticks = 0;
  thread.rseq_area = tracee::rseq_area(thread.tid);
  thread.watched_flags |= kPushesFlags | kPopsFlags | (thread.rseq_area != 0 ? kWritesMemory : 0);
  thread.watched_kinds |= 1U << static_cast<int>(InstructionKind::kBreakpoint);
  go_to(thread, tracee::instruction_pointer(thread.tid));
  if (const auto registers = tracee::registers(thread.tid)) {
    expect_restart(thread, *registers);
    record_lock_wait(thread, *registers);
    record_delaying_call(thread, *registers, asked_tsc);
  }
  thread.window_tsc = read_tsc();
  if (is_at_function(thread)) enter_function(thread);
}

void Stepper::begin_stepping(StepProcess& process) {
  if (process.stepped_threads++ == 0) process.stepped_since_unix_nano = now_unix_nano();
}

// From when to when a process was held, in the time of its spans: whoever lists them can tell which it made slow.
void Stepper::end_stepping(StepThread& thread) {
  StepProcess& process = *thread.process;
  if (--process.stepped_threads != 0) return;
  const uint64_t now = now_unix_nano();
  Sideband row = row_of(thread, SidebandKind::kStepped);
  row.address = process.stepped_since_unix_nano;
  row.length = now - std::min(now, process.stepped_since_unix_nano);
  recording_.add(std::move(row));
}

void Stepper::stop_recording(StepThread& thread) {
  record_unfinished_call(thread);
  thread.flow->pause(thread.ip, read_tsc());
  thread.flow->flush();
  recording_.lose("transfers that no instruction explains", thread.flow->take_unexplained());
  stepped_ticks_ += read_tsc() - thread.window_tsc - thread.in_calls_ticks;
  binding_.release(thread.tid);
  drop_popped_flags(thread);
  thread.mode = StepMode::kFree;
  end_stepping(thread);
  thread.watched_flags = 0;
  thread.watched_kinds = 0;
  thread.window_word = 0;
  cut_off_ += std::exchange(thread.under_way, false);
  thread.owns_window = false;
}

bool Stepper::any_owner(const StepProcess& process) const {
  return std::ranges::any_of(
      threads_, [&](const auto& other) { return other.second->process == &process && other.second->owns_window; });
}

// What was waited for is over in `thread`. Others go on to the end of theirs; it does so with them, where all threads
// are recorded.
void Stepper::end_window(StepThread& thread) {
  thread.under_way = false;
  thread.window_word = 0;
  if (!std::exchange(thread.owns_window, false)) return;
  if (++windows_ended_ >= limits_.windows) return let_everybody_go();
  if (!limits_.all_threads) stop_recording(thread);
  close_windows(*thread.process);
}

void Stepper::close_windows(StepProcess& process) {
  if (any_owner(process)) return;
  for (const auto& [tid, other] : threads_) {
    if (other->process == &process && other->mode != StepMode::kFree) other->leaves = true;
  }
}

}  // namespace fathom::snapshot::step
