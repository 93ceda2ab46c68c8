// The memory that the BPF programs write and the agent reads: rings of records, the slots of threads, the chosen bits.
//
// Purpose: one description for both sides; bpf/recorder.bpf.c is C, so this is, too. docs/formats/kernel-rings.md says
// the same in prose and names the pairing of every atomic. Thread safety: plain data; who may touch what, and in which
// order, is said there. Units: nanoseconds of CLOCK_MONOTONIC. It lives no longer than the recorder and is written by
// programs that the agent brought along, so it carries no version. Licence: see bpf/recorder.bpf.c.
#ifndef FATHOM_NODE_AGENT_KERNEL_RECORD_LAYOUT_H
#define FATHOM_NODE_AGENT_KERNEL_RECORD_LAYOUT_H

#include <linux/types.h>

#ifdef __cplusplus
namespace fathom::agent::kernel {
#endif

enum {
  kRecordBytes = 64,        // a cache line; a ring is a power of two of them, so none is ever split at its end
  kRingHeaderBytes = 4096,  // so that the records begin on a page
  kNameBytes = 16,          // TASK_COMM_LEN
  kMostPids = 4194304,      // PID_MAX_LIMIT of 64-bit kernels
  kSlotSets = 8192,         // a power of two; the set of a thread is its id modulo this
  kSlotWays = 4,
  kEnds = 65536,             // a power of two; the place of a process is its id modulo this
  kNanosPerTick = 10000000,  // of a process's start time in /proc: USER_HZ is 100
};

enum RecordKind {
  kRecordSwitch = 1,
  kRecordWake = 2,
  kRecordSyscall = 3,
  kRecordFault = 4,
  kRecordThreadStart = 5,
  kRecordFork = 6,
  kRecordExit = 7,
  kRecordExec = 8,
  kRecordRename = 9,
};

enum {
  kSwitchPreempted = 1u << 31,  // in `detail`, beside the state
  kWakeByInterrupt = 1,         // in `detail`: one that came while `other` ran
  kFaultOfKernel = 1u << 31,    // in `detail`, beside the processor's error code: a fault of the kernel on its behalf
};

struct Record {
  __u64 sequence;  // the record's number in its ring, from 1; stored last
  __u64 monotonic_nano;
  __u16 kind;
  __u16 cpu;
  __u32 detail;  // switch: the state of who leaves; wake: a flag; syscall: number; fault: error code; exit: the wait
                 // status
  __u32 pid;     // switch: who leaves; wake: who is woken; fork: the parent
  __u32 tid;
  union {
    struct {  // switch: who comes; wake: who woke; thread start: who made it; fork: the child
      __u32 pid;
      __u32 tid;
      char name[kNameBytes];  // switch: of the one that was not chosen; wake: of who woke; else: of the thread
    } other;
    struct {
      __u64 start_nano;  // 0: it began before its process was chosen
      __s64 result;
      __u64 arguments[2];
    } syscall;
    struct {
      __u64 address;
      __u64 instruction;
    } fault;
    __u64 words[4];
  };
};

struct RingHeader {
  __u64 reserved;  // records begun since the ring was made: the number of the newest
  __u64 no_slot;   // system calls whose start was not noted, because the slots of their thread's set were taken
};

// What a thread of a chosen process is doing now.
struct ThreadSlot {
  __u32 tid;  // 0: free
  __u32 pid;
  __u64 start_nano;  // of the system call under way; 0: none
  __u64 arguments[2];
  __u32 number;
  __u32 unused[7];
};

struct SlotSet {
  struct ThreadSlot ways[kSlotWays];
};

// How a process ended, in one word, so that one store writes it: the low 26 bits of its start time in ticks (they
// repeat after a week), its id, and its wait status.
static inline __u64 end_of_process(__u32 pid, __u64 started_ticks, __u32 status) {
  return (started_ticks & 0x3ffffff) << 38 | (pid & 0x3fffffull) << 16 | (status & 0xffff);
}

#ifdef __cplusplus
static_assert(sizeof(Record) == kRecordBytes && sizeof(ThreadSlot) == kRecordBytes);
static_assert(sizeof(RingHeader) <= kRingHeaderBytes);
}  // namespace fathom::agent::kernel
#endif

#endif  // FATHOM_NODE_AGENT_KERNEL_RECORD_LAYOUT_H
