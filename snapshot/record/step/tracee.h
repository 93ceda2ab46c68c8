// The system calls with which one thread holds another: ptrace, in words.
//
// Purpose: one line per request, so that callers read as what they do. A thread that is gone meanwhile (killed) makes
// every request fail, which is no fault: its end is reported by the next wait. Thread safety: all calls come from the
// thread that seized it. Errors: false, or zero.
#pragma once

#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"

namespace fathom::snapshot::step::tracee {

inline constexpr size_t kBreakpoints = 4;

Result<> seize(pid_t tid);

inline bool step(pid_t tid, int signal) {
  return ::ptrace(PTRACE_SINGLESTEP, tid, nullptr, static_cast<long>(signal)) == 0;
}
inline bool run(pid_t tid, int signal) {
  return ::ptrace(PTRACE_CONT, tid, nullptr, static_cast<long>(signal)) == 0;
}
inline bool listen(pid_t tid) {
  return ::ptrace(PTRACE_LISTEN, tid, nullptr, nullptr) == 0;
}
inline bool interrupt(pid_t tid) {
  return ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) == 0;
}
inline bool detach(pid_t tid, int signal) {
  return ::ptrace(PTRACE_DETACH, tid, nullptr, static_cast<long>(signal)) == 0;
}
inline uint64_t peek_register(pid_t tid, size_t offset) {
  return static_cast<uint64_t>(::ptrace(PTRACE_PEEKUSER, tid, offset, nullptr));
}
inline uint64_t instruction_pointer(pid_t tid) {
  return peek_register(tid, offsetof(user_regs_struct, rip));
}
inline uint64_t stack_pointer(pid_t tid) {
  return peek_register(tid, offsetof(user_regs_struct, rsp));
}

// Takes the trap flag away where the kernel thinks that it is the program's own.
void clear_trap_flag(pid_t tid);
// Lets SIGTRAP through: where it is blocked, a stop would take the program's handler of it away.
void unblock_trap(pid_t tid);
std::optional<user_regs_struct> registers(pid_t tid);
int signal_code(pid_t tid);  // si_code of the stop; 0 when it has none
uint64_t event_message(pid_t tid);
// Where the thread's struct rseq is; 0: nowhere.
uint64_t rseq_area(pid_t tid);

// Hardware breakpoints of this thread alone: nobody's code is changed. At most kBreakpoints; none takes them away.
bool set_breakpoints(pid_t tid, std::span<const uint64_t> addresses);

// Of another thread's /proc/PID/status: the process that it belongs to; 0: gone.
pid_t process_of(pid_t tid);
bool has_pending_trap(pid_t tid);

}  // namespace fathom::snapshot::step::tracee
