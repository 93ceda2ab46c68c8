// Flow: decoded control flow as a sequence of small items, in the order of execution on one stream.
//
// Purpose: what stands between libipt and everybody who asks something of the flow. A decoder fills arrays of items and
// hands them on by the thousand, so that who looks at them needs neither libipt nor a call per block. Thread safety:
// plain values. Units: `tsc` is the time-stamp counter as well as the packets tell it (0 before the first TSC); between
// two times that they tell it is estimated.
#pragma once

#include <cstdint>
#include <string_view>

namespace fathom::snapshot {

enum class FlowKind : uint8_t {
  kBlock,   // `count` instructions that lie one behind the other, from `ip` to the one at `to`; the last one is `end`
  kThread,  // from here on `pid`/`tid` runs on this stream (ip: pid, to: tid; see thread_item())
  kInterrupt,  // the flow left `ip` for `to` without an instruction that says so: interrupt, exception, signal
  kPause,      // recording stopped at `ip` (0: unknown): a system call where only user code is recorded, a filter
  kResume,     // and began again at `ip`; the time between was not recorded. No gap: nothing of what was asked for is
               // missing
  kGap,        // instructions are missing; `reason`, `ip` where it happened (0: unknown)
  kProgram,    // the process has become another program (exec): what runs next in it was called by nothing from before
  kMark,       // PTWRITE: `to` is what the program wrote (a span's id), at `ip`
};

// What the last instruction of a block is.
enum class BlockEnd : uint8_t {
  kOther,  // ends for a reason of the decoder's; the flow goes on behind it
  kCall,
  kReturn,
  kJump,
  kConditionalJump,
  kFarCall,    // SYSCALL, SYSENTER, INT, VMCALL
  kFarReturn,  // SYSRET, IRET, SYSEXIT
  kFarJump,
};

enum class GapReason : uint8_t {
  kNone,
  kOverflow,        // OVF: the processor could not keep up
  kMissingImage,    // code that no image has: not mapped, not found, truncated, or jitted
  kDecodeError,     // packets and code contradict each other
  kBadPacket,       // bytes that are no packet
  kPacketsLost,     // the recorder lost packets (AUX record, a hole between two pieces)
  kSidebandLost,    // the history of processes has a hole here
  kUnrecorded,      // the recorder says that instructions ran unrecorded (stepper: rseq, a limit)
  kBetweenWindows,  // what ran between two windows of a thread, which nobody asked for
  kCount,
};

// Lower-case words, as answers print them: "overflow", "missing image", ...
std::string_view gap_reason_name(GapReason reason);

// How the processor reads code.
enum class CodeMode : uint8_t { k64, k32, k16 };

struct FlowItem {
  uint64_t ip = 0;
  uint64_t to = 0;
  uint64_t tsc = 0;
  uint32_t count = 0;
  FlowKind kind = FlowKind::kBlock;
  BlockEnd end = BlockEnd::kOther;
  GapReason reason = GapReason::kNone;
  CodeMode mode = CodeMode::k64;  // of a block

  bool operator==(const FlowItem&) const = default;
};
static_assert(sizeof(FlowItem) == 32);

inline FlowItem thread_item(int32_t pid, int32_t tid, uint64_t tsc) {
  FlowItem item;
  item.kind = FlowKind::kThread;
  item.ip = static_cast<uint32_t>(pid);
  item.to = static_cast<uint32_t>(tid);
  item.tsc = tsc;
  return item;
}
inline int32_t item_pid(const FlowItem& thread) {
  return static_cast<int32_t>(static_cast<uint32_t>(thread.ip));
}
inline int32_t item_tid(const FlowItem& thread) {
  return static_cast<int32_t>(static_cast<uint32_t>(thread.to));
}

}  // namespace fathom::snapshot
