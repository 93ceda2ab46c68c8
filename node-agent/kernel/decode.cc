#include "node-agent/kernel/decode.h"

#include <cstring>

namespace fathom::agent::kernel {

namespace {

// Linux's include/linux/sched.h; the same numbers since 4.14.
constexpr uint32_t kInterruptible = 0x1;
constexpr uint32_t kUninterruptible = 0x2;
constexpr uint32_t kStoppedOrTraced = 0x4 | 0x8;
constexpr uint32_t kZombieOrDead = 0x10 | 0x20 | 0x80;

std::string name_of(const char (&name)[kNameBytes]) {
  return {name, ::strnlen(name, sizeof name)};
}

KernelEvent pair_event(KernelEventKind kind, const Record& record) {
  KernelEvent event{.kind = kind};
  event.other_pid = static_cast<int32_t>(record.other.pid);
  event.other_tid = static_cast<int32_t>(record.other.tid);
  event.name = name_of(record.other.name);
  return event;
}

KernelEvent switch_event(const Record& record) {
  KernelEvent event = pair_event(KernelEventKind::kSwitch, record);
  event.reason = switch_reason(record.detail);
  return event;
}

// Of an interrupt who ran then is told by the name only: mostly it had nothing to do with it.
KernelEvent wake_event(const Record& record) {
  KernelEvent event = pair_event(KernelEventKind::kWake, record);
  if (record.other.tid == 0) event.name.clear();  // nobody ran
  if ((record.detail & kWakeByInterrupt) != 0) event.other_pid = event.other_tid = 0;
  return event;
}

KernelEvent exit_event(const Record& record) {
  KernelEvent event = pair_event(KernelEventKind::kThreadExit, record);
  event.result = static_cast<int32_t>(record.detail);
  return event;
}

KernelEvent syscall_event(const Record& record) {
  KernelEvent event{.kind = KernelEventKind::kSyscall};
  event.syscall = static_cast<int32_t>(record.detail);
  event.start_nano = record.syscall.start_nano;
  event.result = record.syscall.result;
  if (event.start_nano == 0) return event;  // nor were its arguments noted
  event.arguments[0] = record.syscall.arguments[0];
  event.arguments[1] = record.syscall.arguments[1];
  return event;
}

KernelEvent fault_event(const Record& record) {
  const bool of_kernel = (record.detail & kFaultOfKernel) != 0;
  KernelEvent event{.kind = of_kernel ? KernelEventKind::kKernelFault : KernelEventKind::kUserFault};
  event.address = record.fault.address;
  event.instruction = record.fault.instruction;
  event.fault = record.detail & (kFaultProtection | kFaultWrite | kFaultInstruction);
  return event;
}

std::optional<KernelEvent> event_of(const Record& record) {
  switch (record.kind) {
    case kRecordSwitch:
      return switch_event(record);
    case kRecordWake:
      return wake_event(record);
    case kRecordSyscall:
      return syscall_event(record);
    case kRecordFault:
      return fault_event(record);
    case kRecordThreadStart:
      return pair_event(KernelEventKind::kThreadStart, record);
    case kRecordFork:
      return pair_event(KernelEventKind::kProcessStart, record);
    case kRecordExit:
      return exit_event(record);
    case kRecordExec:
      return pair_event(KernelEventKind::kExec, record);
    case kRecordRename:
      return pair_event(KernelEventKind::kRename, record);
    default:
      return std::nullopt;
  }
}

}  // namespace

SwitchReason switch_reason(uint32_t state) {
  if ((state & kZombieOrDead) != 0) return SwitchReason::kEnded;
  if ((state & kSwitchPreempted) != 0 || state == 0) return SwitchReason::kPreempted;
  if ((state & kStoppedOrTraced) != 0) return SwitchReason::kStopped;
  // One that is being woken already is no longer told apart: most sleep so that a signal wakes them.
  const bool deep = (state & kUninterruptible) != 0 && (state & kInterruptible) == 0;
  return deep ? SwitchReason::kUninterruptible : SwitchReason::kSleeps;
}

std::optional<KernelEvent> decode_record(const Record& record) {
  std::optional<KernelEvent> event = event_of(record);
  if (!event) return event;
  event->cpu = record.cpu;
  event->monotonic_nano = record.monotonic_nano;
  event->pid = static_cast<int32_t>(record.pid);
  event->tid = static_cast<int32_t>(record.tid);
  return event;
}

}  // namespace fathom::agent::kernel
