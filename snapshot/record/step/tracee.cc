#include "snapshot/record/step/tracee.h"

#include <csignal>
#include <cstdlib>
#include <string>

#include "base/fd.h"
#include "snapshot/record/step/proc_maps.h"

namespace fathom::snapshot::step::tracee {
namespace {

constexpr long kOptions = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;

size_t debug_register(size_t number) {
  return offsetof(struct user, u_debugreg) + number * sizeof(user::u_debugreg[0]);
}

bool poke_register(pid_t tid, size_t offset, uint64_t value) {
  return ::ptrace(PTRACE_POKEUSER, tid, offset, value) == 0;
}

// Of /proc/TID/status: what stands behind `name`.
std::string status_field(pid_t tid, const std::string& name) {
  const std::string text = read_proc_file("/proc/" + std::to_string(tid) + "/status");
  const size_t at = text.find("\n" + name + ":\t");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 3;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

Result<> seize(pid_t tid) {
  if (::ptrace(PTRACE_SEIZE, tid, nullptr, kOptions) == 0) return {};
  Error error = system_error("cannot step the program");
  if (errno == EPERM)
    error.message +=
        " (ptrace is forbidden here: a debugger traces it already, or a sandbox or "
        "/proc/sys/kernel/yama/ptrace_scope = 3 says no)";
  return error;
}

std::optional<user_regs_struct> registers(pid_t tid) {
  user_regs_struct registers;
  if (::ptrace(PTRACE_GETREGS, tid, nullptr, &registers) != 0) return std::nullopt;
  return registers;
}

void clear_trap_flag(pid_t tid) {
  constexpr uint64_t kTrapFlag = 0x100;
  constexpr size_t kFlags = offsetof(user_regs_struct, eflags);
  const uint64_t flags = peek_register(tid, kFlags);
  if ((flags & kTrapFlag) != 0) poke_register(tid, kFlags, flags & ~kTrapFlag);
}

void unblock_trap(pid_t tid) {
  constexpr uint64_t kTrap = uint64_t{1} << (SIGTRAP - 1);
  uint64_t blocked = 0;
  if (::ptrace(PTRACE_GETSIGMASK, tid, sizeof blocked, &blocked) != 0 || (blocked & kTrap) == 0) return;
  blocked &= ~kTrap;
  ::ptrace(PTRACE_SETSIGMASK, tid, sizeof blocked, &blocked);
}

int signal_code(pid_t tid) {
  siginfo_t about{};
  return ::ptrace(PTRACE_GETSIGINFO, tid, nullptr, &about) == 0 ? about.si_code : 0;
}

uint64_t event_message(pid_t tid) {
  unsigned long message = 0;
  return ::ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &message) == 0 ? message : 0;
}

uint64_t rseq_area(pid_t tid) {
  __ptrace_rseq_configuration about{};
  const long got = ::ptrace(static_cast<__ptrace_request>(PTRACE_GET_RSEQ_CONFIGURATION), tid, sizeof about, &about);
  return got > 0 ? about.rseq_abi_pointer : 0;
}

// The enabling bit of register i is 2 * i; kind and size "execution" are zero.
bool set_breakpoints(pid_t tid, std::span<const uint64_t> addresses) {
  if (!poke_register(tid, debug_register(7), 0)) return false;
  uint64_t enabled = 0;
  for (size_t i = 0; i < addresses.size() && i < kBreakpoints; i++) {
    if (!poke_register(tid, debug_register(i), addresses[i])) return false;
    enabled |= uint64_t{1} << (2 * i);
  }
  return enabled == 0 || poke_register(tid, debug_register(7), enabled);
}

pid_t process_of(pid_t tid) {
  return std::atoi(status_field(tid, "Tgid").c_str());
}

bool has_pending_trap(pid_t tid) {
  const uint64_t pending = std::strtoull(status_field(tid, "SigPnd").c_str(), nullptr, 16);
  return (pending & uint64_t{1} << (SIGTRAP - 1)) != 0;
}

}  // namespace fathom::snapshot::step::tracee
