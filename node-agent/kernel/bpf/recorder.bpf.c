/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * What runs in the kernel: each program looks whether a process is one of the chosen, and writes one record if so.
 *
 * The kernel lets only programs under a licence compatible with the GPL follow its pointers, and so this file and
 * record_layout.h, which it includes, are under both licences named above besides the tree's own. Each program is
 * short and has no loops, no allocation and no lock. CO-RE: the types below name only the members that are used; libbpf
 * finds where the running kernel has them.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "node-agent/kernel/record_layout.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
typedef struct {
  int counter;
} atomic_t;
struct rq;
struct signal_struct {
  atomic_t live;
};
struct thread_info {
  unsigned long preempt_count;  // on arm64 only
};
struct cfs_rq {
  struct rq *rq;
};
struct sched_entity {
  struct cfs_rq *cfs_rq;
};
struct pcpu_hot {
  int preempt_count;
};
struct task_struct {
  struct thread_info thread_info;
  struct sched_entity se;
  unsigned int __state;
  int exit_code;
  int pid;
  int tgid;
  char comm[16];
  struct task_struct *group_leader;
  __u64 start_boottime;
  struct signal_struct *signal;
};
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
  unsigned long si;
  unsigned long di;
  unsigned long orig_ax;
  unsigned long ip;
};
#define FIRST_ARGUMENT(regs) ((regs)->di)
#define SECOND_ARGUMENT(regs) ((regs)->si)
#define SYSCALL_NUMBER(regs) ((regs)->orig_ax)
#define INSTRUCTION(regs) ((regs)->ip)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
  unsigned long regs[31];
  unsigned long pc;
  unsigned long orig_x0;
  int syscallno;
};
#define FIRST_ARGUMENT(regs) ((regs)->orig_x0)
#define SECOND_ARGUMENT(regs) ((regs)->regs[1])
#define SYSCALL_NUMBER(regs) ((regs)->syscallno)
#define INSTRUCTION(regs) ((regs)->pc)
#endif
#pragma clang attribute pop

/* The agent sets both sizes before it loads this: an element for each processor that there may be. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, kRingHeaderBytes + kRecordBytes);
} rings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, kSlotSets);
  __type(key, __u32);
  __type(value, struct SlotSet);
} slots SEC(".maps");

/* A bit for each process id. A load at a known address: what everybody pays who was not chosen. */
__u64 chosen_bits[kMostPids / 64] SEC(".bss.chosen");

/* How processes ended: the last one of each place. */
__u64 ends[kEnds] SEC(".bss.ends");

/* The bytes of a ring less one record's; known to the verifier, which proves by it that no write leaves the ring. */
const volatile __u64 ring_mask = 0;

/* From a processor's run queue to its count of interrupts that it is in, as the agent found both in BTF; 0: not found.
 * Programs may name such variables only where the kernel was built with all its symbols. */
const volatile __s64 count_from_queue = 0;

/* Hard interrupts, NMIs, and soft interrupts that are being served (include/linux/preempt.h). */
#define IN_INTERRUPT 0x00ff0100u
#define NO_COUNT 0x7f000000u

#if defined(__TARGET_ARCH_arm64)
static __always_inline __u32 preempt_count(struct task_struct *current) { return current->thread_info.preempt_count; }
#else
static __always_inline __u32 preempt_count(struct task_struct *current) {
  __u32 count = 0;
  if (count_from_queue == 0 || !bpf_core_field_exists(current->se.cfs_rq)) return 0;
  __u64 at = (__u64)current->se.cfs_rq->rq + count_from_queue;
  if (bpf_core_type_exists(struct pcpu_hot)) at += bpf_core_field_offset(struct pcpu_hot, preempt_count);
  if (bpf_probe_read_kernel(&count, sizeof count, (const void *)at) != 0) return 0;
  return count;
}
#endif

static __always_inline bool in_interrupt(struct task_struct *current) {
  __u32 count = preempt_count(current);
  return (count & IN_INTERRUPT) != 0 && (count & NO_COUNT) == 0;
}

static __always_inline bool is_chosen(__u32 pid) {
  return chosen_bits[(pid / 64) % (kMostPids / 64)] >> (pid % 64) & 1;
}

static __always_inline void forget(__u32 pid) {
  __sync_fetch_and_and(&chosen_bits[(pid / 64) % (kMostPids / 64)], ~(1ull << (pid % 64)));
}

static __always_inline struct RingHeader *ring_of(__u32 cpu) { return bpf_map_lookup_elem(&rings, &cpu); }

/* One atomic add, so that an interrupt's program may write in the middle of another's record. It is a full barrier:
 * whoever sees a byte of the new record sees the new count. */
static __always_inline struct Record *reserve(struct RingHeader *ring, __u64 *number) {
  __u64 before = __sync_fetch_and_add(&ring->reserved, 1);
  *number = before + 1;
  return (void *)ring + kRingHeaderBytes + ((before * kRecordBytes) & ring_mask);
}

/* After what was stored before it, and before what is stored after it. Stores keep their order on x86; elsewhere an
 * exchange is the barrier that this compiler has for BPF. */
static __always_inline void store_in_order(__u64 *to, __u64 value) {
#if defined(__TARGET_ARCH_x86)
  barrier();
  *(volatile __u64 *)to = value;
  barrier();
#else
  __sync_lock_test_and_set(to, value);
#endif
}

static __always_inline void commit(struct Record *record, __u64 number) { store_in_order(&record->sequence, number); }

static __always_inline struct Record *begin(enum RecordKind kind, __u64 now, __u32 pid, __u32 tid, __u64 *number) {
  __u32 cpu = bpf_get_smp_processor_id();
  struct RingHeader *ring = ring_of(cpu);
  if (!ring) return 0;
  struct Record *record = reserve(ring, number);
  record->monotonic_nano = now;
  record->kind = kind;
  record->cpu = cpu;
  record->pid = pid;
  record->tid = tid;
  return record;
}

static __always_inline void copy_name(char *to, const char *from) {
  for (int i = 0; i < kNameBytes; ++i) to[i] = from[i];
}

/* A record about `task` and another one, with a name. */
static __always_inline void write_pair(enum RecordKind kind, struct task_struct *task, struct task_struct *other,
                                       struct task_struct *named, __u32 detail) {
  __u64 number;
  struct Record *record = begin(kind, bpf_ktime_get_ns(), task->tgid, task->pid, &number);
  if (!record) return;
  record->detail = detail;
  record->other.pid = other->tgid;
  record->other.tid = other->pid;
  copy_name(record->other.name, named->comm);
  commit(record, number);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next) {
  bool leaves = is_chosen(prev->tgid);
  if (!leaves && !is_chosen(next->tgid)) return 0;
  __u32 state = (prev->__state & ~kSwitchPreempted) | (preempt ? kSwitchPreempted : 0);
  write_pair(kRecordSwitch, prev, next, leaves ? next : prev, state);
  return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_wake, struct task_struct *task) {
  if (!is_chosen(task->tgid)) return 0;
  struct task_struct *waker = bpf_get_current_task_btf();
  write_pair(kRecordWake, task, waker, waker, in_interrupt(waker) ? kWakeByInterrupt : 0);
  return 0;
}

static __always_inline struct ThreadSlot *find_slot(__u32 tid) {
  __u32 index = tid % kSlotSets;
  struct SlotSet *set = bpf_map_lookup_elem(&slots, &index);
  if (!set) return 0;
  if (set->ways[0].tid == tid) return &set->ways[0];
  if (set->ways[1].tid == tid) return &set->ways[1];
  if (set->ways[2].tid == tid) return &set->ways[2];
  if (set->ways[3].tid == tid) return &set->ways[3];
  return 0;
}

static __always_inline bool claim(struct ThreadSlot *slot, __u32 tid) {
  return slot->tid == 0 && __sync_val_compare_and_swap(&slot->tid, 0, tid) == 0;
}

/* Only a thread itself claims a slot for its id, so there is never more than one. */
static __noinline struct ThreadSlot *claim_slot(__u32 tid) {
  __u32 index = tid % kSlotSets;
  struct SlotSet *set = bpf_map_lookup_elem(&slots, &index);
  if (!set) return 0;
  if (claim(&set->ways[0], tid)) return &set->ways[0];
  if (claim(&set->ways[1], tid)) return &set->ways[1];
  if (claim(&set->ways[2], tid)) return &set->ways[2];
  if (claim(&set->ways[3], tid)) return &set->ways[3];
  return 0;
}

static __always_inline void free_slot(__u32 tid) {
  struct ThreadSlot *slot = find_slot(tid);
  if (!slot) return;
  store_in_order(&slot->start_nano, 0);
  *(volatile __u32 *)&slot->tid = 0;
}

static __always_inline void count_no_slot(void) {
  struct RingHeader *ring = ring_of(bpf_get_smp_processor_id());
  if (ring) __sync_fetch_and_add(&ring->no_slot, 1);
}

/* The start is taken away first and put there last, so that a reader that finds the same start before and after has
 * what belongs to it. */
static __always_inline void note_start(struct ThreadSlot *slot, __u32 pid, __u32 number, const struct pt_regs *regs) {
  store_in_order(&slot->start_nano, 0);
  slot->pid = pid;
  slot->number = number;
  slot->arguments[0] = FIRST_ARGUMENT(regs);
  slot->arguments[1] = SECOND_ARGUMENT(regs);
  store_in_order(&slot->start_nano, bpf_ktime_get_ns());
}

static __always_inline int enter(const struct pt_regs *regs, __u32 number) {
  __u64 ids = bpf_get_current_pid_tgid();
  __u32 pid = ids >> 32;
  __u32 tid = ids;
  if (!is_chosen(pid)) return 0;
  struct ThreadSlot *slot = find_slot(tid);
  if (!slot) slot = claim_slot(tid);
  if (slot)
    note_start(slot, pid, number, regs);
  else
    count_no_slot();
  return 0;
}

static __always_inline int leave(const struct pt_regs *regs, __u32 number, __s64 result) {
  __u64 ids = bpf_get_current_pid_tgid();
  __u32 pid = ids >> 32;
  __u32 tid = ids;
  if (!is_chosen(pid)) return 0;
  __u64 sequence;
  struct Record *record = begin(kRecordSyscall, bpf_ktime_get_ns(), pid, tid, &sequence);
  if (!record) return 0;
  record->detail = number;
  record->syscall.start_nano = 0;
  record->syscall.result = result;
  struct ThreadSlot *slot = find_slot(tid);
  if (slot) {
    record->syscall.start_nano = slot->start_nano;
    record->syscall.arguments[0] = slot->arguments[0];
    record->syscall.arguments[1] = slot->arguments[1];
    *(volatile __u64 *)&slot->start_nano = 0;
  }
  commit(record, sequence);
  return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long number) { return enter(regs, number); }

SEC("tp_btf/sys_exit")
int BPF_PROG(on_leave, struct pt_regs *regs, long result) { return leave(regs, SYSCALL_NUMBER(regs), result); }

static __always_inline int fault(__u64 address, const struct pt_regs *regs, __u32 code) {
  __u64 ids = bpf_get_current_pid_tgid();
  if (!is_chosen(ids >> 32)) return 0;
  __u64 number;
  struct Record *record = begin(kRecordFault, bpf_ktime_get_ns(), ids >> 32, ids, &number);
  if (!record) return 0;
  record->detail = code;
  record->fault.address = address;
  record->fault.instruction = INSTRUCTION(regs);
  commit(record, number);
  return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_user_fault, unsigned long address, struct pt_regs *regs, unsigned long code) {
  return fault(address, regs, code & ~kFaultOfKernel);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(on_kernel_fault, unsigned long address, struct pt_regs *regs, unsigned long code) {
  return fault(address, regs, code | kFaultOfKernel);
}

/* A thread of a chosen process, or a process of its own: that one is not chosen, and its parent has the record. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child) {
  if (!is_chosen(parent->tgid)) return 0;
  if (child->tgid == parent->tgid)
    write_pair(kRecordThreadStart, child, parent, child, 0);
  else
    write_pair(kRecordFork, parent, child, child, 0);
  return 0;
}

/* Also of a process that is not chosen: a child of fork() may end before the agent has chosen it. */
static __always_inline void note_end(struct task_struct *task) {
  __u32 pid = task->tgid;
  __u64 started_ticks = task->group_leader->start_boottime / kNanosPerTick;
  *(volatile __u64 *)&ends[pid % kEnds] = end_of_process(pid, started_ticks, task->exit_code);
}

/* With its last thread a process is no longer chosen: its number may be another's at once. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task) {
  bool is_last = task->signal->live.counter == 0;
  if (is_last) note_end(task);
  if (!is_chosen(task->tgid)) return 0;
  free_slot(task->pid);
  write_pair(kRecordExit, task, task, task, task->exit_code);
  if (is_last) forget(task->tgid);
  return 0;
}

/* The thread that calls exec() takes the id of the first one, and leaves its own. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_tid) {
  if (!is_chosen(task->tgid)) return 0;
  if (old_tid != task->pid) free_slot(old_tid);
  write_pair(kRecordExec, task, task, task, old_tid);
  return 0;
}

/* `name` is what it will be. */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *name) {
  if (!is_chosen(task->tgid)) return 0;
  __u64 number;
  struct Record *record = begin(kRecordRename, bpf_ktime_get_ns(), task->tgid, task->pid, &number);
  if (!record) return 0;
  record->detail = 0;
  record->other.pid = task->tgid;
  record->other.tid = task->pid;
  bpf_probe_read_kernel_str(record->other.name, kNameBytes, name);
  commit(record, number);
  return 0;
}
