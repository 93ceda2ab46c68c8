#include "node-agent/kernel/event_text.h"

#include <cinttypes>
#include <cstdio>

#include "base/time.h"

namespace fathom::agent {

namespace {

std::string hex(uint64_t number) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%" PRIx64, number);
  return text;
}

std::string other(const KernelEvent& event) {
  return std::to_string(event.other_pid) + "/" + std::to_string(event.other_tid) + " " + event.name;
}

std::string waker(const KernelEvent& event) {
  if (event.other_tid != 0) return other(event);
  return event.name.empty() ? "an interrupt" : "an interrupt (" + event.name + " ran then)";
}

const char* reason_text(SwitchReason reason) {
  constexpr const char* kTexts[] = {"preempted", "sleeps", "sleeps, uninterruptible", "stopped", "ended"};
  static_assert(std::size(kTexts) == static_cast<size_t>(SwitchReason::kEnded) + 1);
  return kTexts[static_cast<size_t>(reason)];
}

std::string call_text(const KernelEvent& event) {
  std::string text = "system call " + std::to_string(event.syscall);
  if (event.start_nano == 0) return text + " = " + std::to_string(event.result) + " begun before";
  text += "(" + hex(event.arguments[0]) + ", " + hex(event.arguments[1]) + ")";
  const std::string duration = format_duration(event.monotonic_nano - event.start_nano);
  if (event.kind == KernelEventKind::kSyscallUnderWay) return text + " under way since " + duration;
  return text + " = " + std::to_string(event.result) + " took " + duration;
}

std::string fault_text(const KernelEvent& event) {
  std::string text = event.kind == KernelEventKind::kKernelFault ? "page fault of the kernel: " : "page fault: ";
  text += (event.fault & kFaultInstruction) != 0 ? "fetch " : (event.fault & kFaultWrite) != 0 ? "write " : "read ";
  text += hex(event.address) + " at " + hex(event.instruction);
  return (event.fault & kFaultProtection) != 0 ? text + " (protection)" : text;
}

std::string what(const KernelEvent& event) {
  switch (event.kind) {
    case KernelEventKind::kSwitch:
      return std::string(reason_text(event.reason)) + ", then " + other(event);
    case KernelEventKind::kWake:
      return "woken by " + waker(event);
    case KernelEventKind::kSyscall:
    case KernelEventKind::kSyscallUnderWay:
      return call_text(event);
    case KernelEventKind::kUserFault:
    case KernelEventKind::kKernelFault:
      return fault_text(event);
    case KernelEventKind::kThreadStart:
      return "thread " + event.name + " made by " + std::to_string(event.other_tid);
    case KernelEventKind::kProcessStart:
      return "makes process " + std::to_string(event.other_pid);
    case KernelEventKind::kThreadExit:
      return "thread " + event.name + " ends with status " + std::to_string(event.result);
    case KernelEventKind::kExec:
      return "executes " + event.name;
    case KernelEventKind::kRename:
      return "is called " + event.name;
  }
  return "";
}

}  // namespace

std::string event_text(const KernelEvent& event, uint64_t origin_nano) {
  char head[96];
  const double micros = (static_cast<double>(event.monotonic_nano) - static_cast<double>(origin_nano)) / 1e3;
  std::snprintf(head, sizeof head, "%14.3f us cpu%u %d/%d ", micros, unsigned{event.cpu}, event.pid, event.tid);
  return head + what(event);
}

}  // namespace fathom::agent
