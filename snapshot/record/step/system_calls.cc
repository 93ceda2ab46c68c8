// System calls: into the kernel at one instruction, back at the next one, or at the same one again, or at a signal's
// handler. What they do to the process that we have a picture of is followed here.
#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <bit>

#include "snapshot/record/step/stepper.h"
#include "snapshot/record/step/tracee.h"

namespace fathom::snapshot::step {
namespace {

// What the kernel leaves in RAX of a call that it will run again (the kernel's linux/errno.h; programs never see them).
bool is_restart(uint64_t result) {
  const auto error = -static_cast<int64_t>(result);
  return error == 512 || error == 513 || error == 514 || error == 516;
}

// The thread stopped in a call that was interrupted.
bool is_to_restart(const user_regs_struct& registers) {
  return static_cast<int64_t>(registers.orig_rax) >= 0 && is_restart(registers.rax);
}

constexpr uint8_t kSyscallLength = 2;

}  // namespace

void Stepper::begin_system_call(StepThread& thread) {
  const auto registers = tracee::registers(thread.tid);
  if (!registers) return;
  std::array<uint8_t, 2> opcode{};
  thread.process->space.read(thread.ip, opcode);
  SystemCall& call = thread.call;
  call.ip = thread.ip;
  call.number = registers->rax;
  call.arguments = {registers->rdi, registers->rsi, registers->rdx, registers->r10, registers->r8, registers->r9};
  call.native = opcode[0] == 0x0f && opcode[1] == 0x05;
  call.tsc = read_tsc();
  thread.expects |= kExpectCallEnd;
  if (call.native && call.number == SYS_futex) about_to_wait(thread, *registers);
}

// As a thread that a window finds asleep; the kernel lets it sleep if the word is what it says.
void Stepper::about_to_wait(const StepThread& thread, user_regs_struct registers) {
  std::array<uint8_t, sizeof(uint32_t)> word{};
  if (thread.process->space.read(registers.rdi, word) != word.size()) return;
  const uint64_t operation = registers.rsi & FUTEX_CMD_MASK;
  const bool compares = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
  if (compares && std::bit_cast<uint32_t>(word) != static_cast<uint32_t>(registers.rdx)) return;
  registers.orig_rax = registers.rax;
  record_lock_wait(thread, registers);
}

// Records the call from its begin to now.
void Stepper::add_call(const StepThread& thread, const SystemCall& call, uint32_t flags) {
  Sideband row = row_of(thread, SidebandKind::kSystemCall);
  row.file_offset = row.tsc - std::min(row.tsc, call.tsc);
  row.tsc = call.tsc;
  row.flags = flags;
  row.address = call.ip;
  row.length = call.number;
  recording_.add(std::move(row));
}

void Stepper::record_call(StepThread& thread, uint64_t next, uint32_t flags) {
  static constexpr Instruction kCall{0, kSyscallLength, InstructionKind::kSystemCall, 0};
  record(thread, kCall, thread.call.ip, next, thread.call.tsc);
  add_call(thread, thread.call, flags);
}

// A thread joins a window when it leaves the kernel. A call that cannot be interrupted, as fsync mostly, lasted at
// least from the request to join until now; this row is the only record of it.
void Stepper::record_delaying_call(const StepThread& thread, const user_regs_struct& registers, uint64_t asked_tsc) {
  const bool in_call = static_cast<int64_t>(registers.orig_rax) >= 0;
  if (asked_tsc == 0 || !in_call || (thread.expects & kExpectRestart) != 0) return;
  SystemCall call;
  call.ip = registers.rip - kSyscallLength;
  call.number = registers.orig_rax;
  call.tsc = asked_tsc;
  add_call(thread, call, 0);
}

// Called if recording ends while the thread sleeps.
void Stepper::record_unfinished_call(const StepThread& thread) {
  if ((thread.expects & kExpectRestart) != 0) add_call(thread, thread.call, kFlagUnderWay);
}

// It ran, once (more).
void Stepper::end_system_call(StepThread& thread, uint64_t ip) {
  const auto registers = tracee::registers(thread.tid);
  record_call(thread, ip, registers && is_to_restart(*registers) ? uint32_t{kFlagUnderWay} : 0U);
  const SystemCall& call = thread.call;
  thread.expects &= ~(kExpectCallEnd | kExpectRestart);
  const uint64_t tsc = read_tsc();
  thread.in_calls_ticks += tsc - call.tsc;
  thread.flow->resumes(tsc);
  if (registers) {
    expect_restart(thread, *registers);
    if (call.native && (thread.expects & kExpectRestart) == 0) follow_effects(thread, *registers);
  }
  go_to(thread, ip);
  count_step();
}

// What runs next is then the same call, and the thread will be seen behind it.
void Stepper::expect_restart(StepThread& thread, const user_regs_struct& registers) {
  if (!is_to_restart(registers)) return;
  thread.expects |= kExpectRestart;
  thread.call.ip = registers.rip - kSyscallLength;
  thread.call.number = registers.orig_rax;
  thread.call.tsc = read_tsc();
}

void Stepper::follow_effects(StepThread& thread, const user_regs_struct& registers) {
  const SystemCall& call = thread.call;
  switch (call.number) {
    case SYS_sched_getaffinity:
      return answer_affinity(thread, registers.rax);
    case SYS_sched_setaffinity: {
      const auto whom = static_cast<pid_t>(call.arguments[0]);
      return binding_.changed(whom == 0 ? thread.tid : whom);
    }
    case SYS_rseq:
      thread.rseq_area = tracee::rseq_area(thread.tid);
      if (thread.rseq_area != 0) thread.watched_flags |= kWritesMemory;
      return;
    case SYS_rt_sigreturn:
      if (thread.handlers > 0) thread.handlers--;
      return;
    case SYS_prctl:
      if (call.arguments[0] == PR_SET_NAME) record_name(thread, read_tsc(), 0);
      return;
    default:
      return follow_maps(thread, registers);
  }
}

void Stepper::follow_maps(StepThread& thread, const user_regs_struct& registers) {
  const SystemCall& call = thread.call;
  AddressSpace& space = thread.process->space;
  const auto& [first, second, third, fourth, fifth, sixth] = call.arguments;
  bool look = false;
  switch (call.number) {
    case SYS_mmap:
      look = (third & PROT_EXEC) != 0 || space.touches_code(registers.rax, second);
      break;
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      look = (third & PROT_EXEC) != 0 || space.touches_code(first, second);
      break;
    case SYS_munmap:
    case SYS_mremap:
      look = space.touches_code(first, second);
      break;
    case SYS_shmat:
    case SYS_remap_file_pages:
      look = true;
      break;
    default:
      break;
  }
  if (look) space.look_at_maps(read_tsc());
}

// The kernel wrote the one CPU that we bound the thread to; it is told what it would have been told without us.
void Stepper::answer_affinity(StepThread& thread, uint64_t result) {
  const auto whom = static_cast<pid_t>(thread.call.arguments[0]);
  const cpu_set_t* own = binding_.own(whom == 0 ? thread.tid : whom);
  if (own == nullptr || static_cast<int64_t>(result) <= 0) return;
  const size_t bytes = std::min<size_t>(result, sizeof *own);
  thread.process->space.write(thread.call.arguments[2], {reinterpret_cast<const uint8_t*>(own), bytes});
}

}  // namespace fathom::snapshot::step
