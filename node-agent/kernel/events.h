// The events that the kernel recorder has seen, as plain values.
//
// Purpose: the result of KernelRecorder::snapshot(). Thread safety: plain values. Units: nanoseconds of
// CLOCK_MONOTONIC, which is the clock that tick_clock.h converts to and from; process and thread ids are the host's
// own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "node-agent/agent/process_life.h"

namespace fathom::agent {

enum class KernelEventKind : uint8_t {
  kSwitch,           // pid/tid left the processor, other_* came
  kWake,             // pid/tid may run again, because other_* said so; other_tid 0: an interrupt, and `name` ran then
  kSyscall,          // ended
  kSyscallUnderWay,  // had not ended when the snapshot was taken
  kUserFault,        // a page fault of the program
  kKernelFault,      // of the kernel, on memory of the program that it was told to use
  kThreadStart,      // tid began, made by other_tid
  kProcessStart,     // pid made a process other_pid, which is not chosen by that
  kThreadExit,
  kExec,
  kRename,
};

// Why a thread left the processor.
enum class SwitchReason : uint8_t {
  kPreempted,        // still runnable; includes sched_yield() and an exhausted CPU quota
  kSleeps,           // until somebody wakes it, or a signal comes
  kUninterruptible,  // mostly: waits for a disk
  kStopped,          // by a signal, or a debugger
  kEnded,
};

inline constexpr uint32_t kFaultProtection = 1;    // the page is there, and forbids it; else it was not there
inline constexpr uint32_t kFaultWrite = 2;         // else it was read
inline constexpr uint32_t kFaultInstruction = 16;  // it was to be executed

struct KernelEvent {
  KernelEventKind kind = KernelEventKind::kSwitch;
  SwitchReason reason = SwitchReason::kPreempted;  // of a switch
  uint16_t cpu = 0;
  uint64_t monotonic_nano = 0;  // of a system call: its end; of one under way: when it was seen to be so
  int32_t pid = 0;
  int32_t tid = 0;
  int32_t other_pid = 0;  // 0 of a switch: nothing ran; of a wake-up: an interrupt
  int32_t other_tid = 0;
  std::string name;         // switch: of the one that was not chosen, of other_* where both were; else: of the thread
  int32_t syscall = 0;      // its number
  uint64_t start_nano = 0;  // of a system call; 0: before its process was chosen, or lost for want of a slot
  int64_t result = 0;       // of a system call: what it returned, or -errno; of an exit: the wait status
  uint64_t arguments[2] = {};  // of a system call: the first two
  uint64_t address = 0;        // of a fault
  uint64_t instruction = 0;    // of a fault: where it happened
  uint32_t fault = 0;          // kFault* flags
};

struct ThreadName {
  int32_t pid = 0;
  int32_t tid = 0;
  std::string name;
};

// What a snapshot should have, and has not.
struct KernelLosses {
  uint64_t overwritten = 0;  // while they were being read
  uint64_t torn = 0;         // begun, and not finished when they were read; or damaged
  uint64_t left_out = 0;     // the oldest, beyond `most_events`
  uint64_t no_slot = 0;      // since the last snapshot: starts of system calls that could not be noted
  uint64_t missed = 0;       // times that the kernel did not run one of the programs: since the last snapshot, by its
                             // own count; and in this one, by what must have been told (missing_changes.h)
};

// The counts and their names in metrics.
inline constexpr std::array<std::pair<const char*, uint64_t KernelLosses::*>, 5> kKernelLosses = {{
    {"overwritten", &KernelLosses::overwritten},
    {"torn", &KernelLosses::torn},
    {"left_out", &KernelLosses::left_out},
    {"no_slot", &KernelLosses::no_slot},
    {"missed", &KernelLosses::missed},
}};
static_assert(sizeof(KernelLosses) == kKernelLosses.size() * sizeof(uint64_t), "each count has a name");

// In captures, and in reports to the collector.
inline std::string kernel_loss_name(const char* reason) {
  return std::string("kernel_") + reason;
}

struct KernelSnapshot {
  std::vector<KernelEvent> events;  // by time
  std::vector<ThreadName> threads;  // those of the events: names as of now, or as of a thread's end
  KernelLosses losses;
  uint64_t complete_from_nano = 0;  // from when on no ring has been overwritten, and all processes that were named are
                                    // recorded; the window's begin, if that is later
};

}  // namespace fathom::agent
