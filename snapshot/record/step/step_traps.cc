// The end of an instruction, which is what most stops are; and what else a trap may be.
#include <ucontext.h>

#include <array>
#include <csignal>
#include <cstring>

#include "snapshot/record/step/stepper.h"
#include "snapshot/record/step/tracee.h"

namespace fathom::snapshot::step {
namespace {

constexpr int kEntersHandler = SIGTRAP;  // si_code when the kernel stops a stepped thread at its handler's beginning
constexpr uint8_t kTrapFlagByte = 1;     // of RFLAGS, the byte that holds TF
constexpr uint8_t kTrapFlag = 1;         // in that byte

}  // namespace

void Stepper::on_trap(StepThread& thread) {
  const uint64_t ip = tracee::instruction_pointer(thread.tid);
  if (thread.expects != 0 || ip == thread.ip) return on_rare_trap(thread, ip);
  stepped(thread, ip);
}

void Stepper::record(StepThread& thread, const Instruction& instruction, uint64_t ip, uint64_t next, uint64_t tsc) {
  thread.flow->executed(instruction, ip, next, tsc);
  if (observer_) observer_(thread.tid, ip);
  instructions_++;
}

void Stepper::stepped(StepThread& thread, uint64_t next) {
  const Instruction ran = thread.instruction;
  const uint64_t at = thread.ip;
  if (ran.length != 0) record(thread, ran, at, next, read_tsc());
  go_to(thread, next);
  if ((ran.flags & thread.watched_flags) != 0 || (thread.watched_kinds >> static_cast<int>(ran.kind) & 1) != 0)
    look_at_what_ran(thread, ran, at);
  const bool may_call = ran.kind != InstructionKind::kOther && ran.kind != InstructionKind::kConditional;
  if (may_call && thread.mode == StepMode::kStepping && is_at_function(thread)) enter_function(thread);
  count_step();
}

void Stepper::count_step() {
  if (steps_left_ != 0 && --steps_left_ == 0) let_everybody_go();
}

void Stepper::go_to(StepThread& thread, uint64_t ip) {
  AddressSpace& space = thread.process->space;
  thread.ip = ip;
  thread.rounds = 0;
  thread.instruction = space.at(ip);
  if (space.changed()) {
    space.take_changed();
    thread.flow->synchronise(ip, read_tsc());
  }
  if (thread.instruction.length == 0 && thread.flow->enabled())
    record_gap(thread, "code that cannot be read", "unreadable code");
}

void Stepper::look_at_what_ran(StepThread& thread, const Instruction& ran, uint64_t at) {
  if ((ran.flags & kPushesFlags) != 0) hide_trap_flag(thread);
  if ((ran.flags & kPopsFlags) != 0) thread.popped_flags = true;
  if (ran.kind == InstructionKind::kBreakpoint) hand_signal(thread, SIGTRAP);
  if ((ran.flags & kWritesMemory) != 0 && thread.rseq_area != 0) look_for_section(thread, at);
  if (trigger_.ends(thread)) end_window(thread);
}

void Stepper::clear_byte(StepThread& thread, uint64_t at, uint8_t bits) {
  std::array<uint8_t, 1> byte{};
  if (thread.process->space.read(at, byte) != byte.size() || (byte[0] & bits) == 0) return;
  byte[0] &= static_cast<uint8_t>(~bits);
  thread.process->space.write(at, byte);
}

// PUSHF shows that the program is stepped, and the POPF that follows would step it for ever.
void Stepper::hide_trap_flag(StepThread& thread) {
  clear_byte(thread, tracee::stack_pointer(thread.tid) + kTrapFlagByte, kTrapFlag);
}

// What its handler returns with. RDX is where the kernel has put the context.
void Stepper::hide_trap_flag_of_handler(StepThread& thread) {
  constexpr size_t kFlags = offsetof(ucontext_t, uc_mcontext.gregs) + REG_EFL * sizeof(greg_t);
  const uint64_t context = tracee::peek_register(thread.tid, offsetof(user_regs_struct, rdx));
  clear_byte(thread, context + kFlags + kTrapFlagByte, kTrapFlag);
}

void Stepper::on_rare_trap(StepThread& thread, uint64_t ip) {
  const int code = tracee::signal_code(thread.tid);
  if ((thread.expects & kExpectHandler) != 0) {
    thread.expects &= ~kExpectHandler;
    if (code == kEntersHandler) return enter_handler(thread, ip);
  }
  if (code <= 0) return on_signal(thread, SIGTRAP);  // somebody's kill()
  if ((thread.expects & (kExpectCallEnd | kExpectRestart)) != 0) return end_system_call(thread, ip);
  if (ip == thread.ip) return stayed(thread, ip, code);
  stepped(thread, ip);
}

// The instruction pointer is where it was: a round of a repeated instruction, a jump to itself, or the end of a system
// call that was noted already.
void Stepper::stayed(StepThread& thread, uint64_t ip, int code) {
  const bool repeats = (thread.instruction.flags & kRepeats) != 0;
  if (code == TRAP_TRACE && repeats) thread.rounds++;
  if (code == TRAP_TRACE && !repeats) stepped(thread, ip);
}

// ---- signals
// ---------------------------------------------------------------------------------------------------------

void Stepper::on_signal(StepThread& thread, int signal) {
  const bool at_breakpoint = signal == SIGTRAP && tracee::signal_code(thread.tid) == TRAP_HWBKPT;
  if (thread.mode == StepMode::kFree) return at_breakpoint ? on_breakpoint(thread) : void(thread.signal = signal);
  const uint64_t ip = tracee::instruction_pointer(thread.tid);
  if (thread.mode == StepMode::kRunningOver) end_run_over(thread, ip);
  if (at_breakpoint || (ending_ && signal == SIGTRAP)) return;
  settle_system_call(thread, ip);
  hand_signal(thread, signal);
}

void Stepper::on_breakpoint(StepThread& thread) {
  if (ending_) return;
  const std::vector<uint64_t> before = thread.process->breakpoints;
  const auto reason = trigger_.at_breakpoint(thread);
  if (thread.process->breakpoints != before) thread.armed = !tracee::set_breakpoints(thread.tid, {});
  if (reason && windows_begun_ < limits_.windows)
    return reason->endless ? begin_window(thread, *reason) : begin_own_window(thread, *reason);
  thread.window_word = 0;
  thread.watched_flags = 0;
  thread.watched_kinds = 0;
}

// The thread stopped, and not because its system call was over: it may not even have begun.
void Stepper::settle_system_call(StepThread& thread, uint64_t ip) {
  if ((thread.expects & kExpectCallEnd) == 0) return;
  if (ip != thread.call.ip) return end_system_call(thread, ip);
  thread.expects &= ~kExpectCallEnd;
}

void Stepper::hand_signal(StepThread& thread, int signal) {
  thread.signal = signal;
  thread.handed_signal = signal;
  thread.expects |= kExpectHandler;
  Sideband row = row_of(thread, SidebandKind::kSignal);
  row.length = static_cast<uint64_t>(signal);
  row.address = thread.ip;
  recording_.add(std::move(row));
}

void Stepper::enter_handler(StepThread& thread, uint64_t ip) {
  const uint64_t tsc = read_tsc();
  thread.expects &= ~(kExpectRestart | kExpectCallEnd);
  thread.handlers++;
  thread.handed_signal = 0;
  tracee::unblock_trap(thread.tid);
  if (thread.popped_flags) hide_trap_flag_of_handler(thread);
  thread.flow->interrupted(thread.ip, ip, tsc);
  thread.flow->resumes(tsc);
  go_to(thread, ip);
  if (is_at_function(thread)) enter_function(thread);
}

}  // namespace fathom::snapshot::step
