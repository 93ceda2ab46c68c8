// CallMachine: one thread's stack of calls, moved by one item of flow at a time.
//
// Purpose: the rules, in one place. A machine that knows the whole stack (known_bottom) settles everything. One that
// began in the middle, for a part of a stream, settles what depends on the frames that it saw begin, and answers "no"
// to an item that needs what lies below: the part begins a new piece there, and whoever merges has a machine that
// knows. Both run the same code, which is why parts and one pass agree exactly.
//
// The rules. A call pushes a frame; a return ends the nearest frame that waits for that address. A jump to another
// function's first instruction is a tail call: the frame is that function's from now on. A jump into the middle of
// another function is the unwinder's or longjmp's, to the nearest frame of that function; if there is none, it is a
// piece of the function that lies elsewhere ("cold"), which becomes a child without calls. Code without symbols is one
// stretch of many functions, so that a jump into it is a tail call, unless it leads where a frame in that stretch
// already came back to (setjmp), or waits to. A return to a function's first instruction is a jump in disguise
// (retpolines). An entry of a linkage table belongs to its caller. Interrupts
// and signals push a frame that waits for the interrupted address. Behind a gap, and at the beginning, stands a floor:
// nothing is known of the frames around; a return that no frame waits for, and whose function is on no frame, discovers
// the caller of all that ran above the topmost floor. Where recording is switched on at a function's first instruction,
// and nothing was recorded before, its call is seen to begin. So it is behind what ran between two windows: each window
// is a beginning of its own; and so is the first instruction of another program (exec).
//
// Thread safety: none. Source of the idea: shadow stacks; re-rooting as in magic-trace.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "snapshot/decode/call_functions.h"
#include "snapshot/decode/call_tree.h"
#include "snapshot/decode/flow.h"
#include "snapshot/decode/slices.h"

namespace fathom::snapshot {

enum class FrameKind : uint8_t {
  kBottom,  // of a part's machine: the frame that was on top when the piece began, and all below it
  kFloor,
  kUncalled,  // on a floor: who called it is not known
  kCall,
  kFar,        // into the kernel
  kInterrupt,  // interrupts, exceptions, signals
};

// The functions that jumps led between lately, the latest first. Where a part knows only the end of what happened, it
// knows the beginning of this list.
struct RecentFunctions {
  static constexpr size_t kMost = 4;
  uint32_t ids[kMost] = {};
  uint8_t count = 0;

  bool holds(uint32_t id) const;
  void use(uint32_t id);
  void continue_with(const RecentFunctions& older);
};

struct Frame {
  uint64_t returns_to = 0;  // at or up to 14 bytes behind: the length of the call is not known
  uint64_t entered_tsc = 0;
  uint64_t came_back_to = 0;               // where a call that it made returned last; 0: none did
  const CallFunction* function = nullptr;  // nullptr: a part's bottom, a floor
  uint32_t node = 0;
  uint32_t slice = 0;  // of a floor: its place among the slices
  FrameKind kind = FrameKind::kCall;
  bool entry_known = false;
  bool local = false;  // called in the middle of the caller's own function
  RecentFunctions recent;

  bool waits_for(uint64_t ip) const { return ip - returns_to < 15 && kind >= FrameKind::kCall; }
};

// How the flow gets from the last block to the next.
enum class FlowStep : uint8_t { kOn, kCall, kReturn, kFarCall, kFarReturn, kInterrupt, kGap };

// Whose first instruction the next one in user mode is: nothing of a piece said so, nobody's, or another program's.
enum class NextProgram : uint8_t { kUntold, kSame, kOther };

// Where a thread is.
struct CallState {
  std::vector<Frame> frames;
  uint32_t node = CallTree::kRoot;
  const CallFunction* place = nullptr;  // the function, or stretch, that runs
  uint64_t begin = 0;                   // its extent: what stays within is of no interest. None in a pause
  uint64_t size = 0;
  uint64_t since = 0;  // up to when ticks are accounted for
  FlowStep step = FlowStep::kGap;
  GapReason gap = GapReason::kNone;
  uint64_t from = 0;  // the last instruction
  bool paused = false;
  uint64_t paused_at = 0;  // which instruction
  bool out = false;        // another thread has the processor
  NextProgram next_program = NextProgram::kUntold;
  uint64_t last_tsc = 0;
};

// What a machine reports beside the tree; the part's or the whole's.
class CallSink {
 public:
  virtual ~CallSink() = default;
  virtual void completed(const CallFunction* function, uint64_t ticks) = 0;
};

class CallMachine {
 public:
  // `known_bottom`: the thread's own; else a part's. `sink` and `slices` may be nullptr.
  CallMachine(CallFunctionCache& cache, int32_t pid, bool known_bottom, CallSink* sink, Slices* slices);

  // How many items were taken: all, or up to the first kThread, or up to the first one that needs the frames below
  // (never, if the bottom is known).
  size_t take(std::span<const FlowItem> items);
  bool step(const FlowItem& item);
  // Whether the item's `ip` was reached before it happened, though no block says so. A part takes reached() first.
  bool reaches(const FlowItem& item) const;
  static FlowItem reached(const FlowItem& item);
  void switch_out(uint64_t tsc);
  void switch_in(uint64_t tsc);

  // Part: the state behind an item that step() could not take. `item` is a block or has an address.
  void begin_piece(const FlowItem& item);
  // Whole: the state behind a piece that `part` went through, whose nodes are `moved` here.
  void continue_as(const CallState& part, const std::vector<uint32_t>& moved, uint32_t slices_before);
  uint32_t top_node(const CallFunction* place);  // of the frame on top, for code of `place`
  uint32_t parent_of_top() const { return parent_of(now_.frames.back()); }

  void flush_instructions();
  void compact();
  void finish();  // accounts for what is under way; the tree is whole then
  const CallState& state() const { return now_; }
  CallTree& tree() { return tree_; }
  const CallTree& tree() const { return tree_; }
  size_t depth() const { return now_.frames.size(); }
  bool ran() const { return ran_; }
  uint64_t last_tsc() const { return now_.last_tsc; }

 private:
  static constexpr size_t kNotFound = SIZE_MAX;
  // What a part knows of the state behind an item that it could not settle.
  enum class Unsettled : uint8_t { kAny, kJump, kTailCall };

  bool arrive(uint64_t ip, uint64_t tsc);
  void end_with(const FlowItem& item);
  bool settle(uint64_t ip, uint64_t tsc);
  bool jump(uint64_t ip, uint64_t tsc);
  bool unwind(const CallFunction* place, uint64_t ip, uint64_t tsc);
  bool tail_call(uint64_t ip, uint64_t tsc);
  bool call(uint64_t ip, uint64_t tsc);
  bool far_call(uint64_t ip, uint64_t tsc);
  bool far_return(uint64_t ip, uint64_t tsc);
  bool leave_kernel(uint64_t ip, uint64_t tsc);
  bool return_to(uint64_t ip, uint64_t tsc);
  bool come_back(size_t frame, uint64_t ip, uint64_t tsc);
  size_t frame_to_unwind_to(const CallFunction* place, uint64_t ip) const;
  bool return_in_disguise(uint64_t ip, uint64_t tsc);
  bool return_to_restorer(uint64_t ip, uint64_t tsc);
  bool return_unmatched(size_t from, const CallFunction* place, uint64_t ip, uint64_t tsc);
  bool resume(const FlowItem& item);
  bool resume_at(uint64_t ip, uint64_t tsc);
  bool resume_elsewhere(uint64_t ip, uint64_t tsc);
  void pause(const FlowItem& item);
  void interrupt(const FlowItem& item);
  bool gap(const FlowItem& item);
  bool begin_program(uint64_t ip, uint64_t tsc);
  void forget_frames(uint64_t tsc);
  bool leave_gap(uint64_t ip, uint64_t tsc);
  bool begin(uint64_t ip, uint64_t tsc);
  bool block(const FlowItem& item);

  // Downwards from `from`, as far as a stack is believed; kNotFound: none, or it may lie below a part's bottom.
  template <typename Wanted>
  size_t search(size_t from, Wanted wanted) const;
  void push(FrameKind kind, const CallFunction* function, uint64_t returns_to, uint64_t tsc);
  void push_interrupt(uint64_t ip, uint64_t returns_to, uint64_t tsc);
  void push_floor(GapReason reason, uint64_t tsc);
  void push_uncalled(uint64_t ip, uint64_t tsc);
  void pop_to(size_t size, uint64_t tsc);
  void return_from(size_t frame, uint64_t tsc);
  void complete(const Frame& frame, uint64_t tsc);
  void discover(const CallFunction* function, uint64_t tsc);
  void forget_lowest();
  uint32_t parent_of(const Frame& frame) const;
  void account(uint64_t tsc);
  void run_in(uint32_t node, const CallFunction* place, uint64_t tsc);
  bool unsettled(Unsettled how);
  void slice(const CallFunction* function, uint64_t tsc);
  const CallFunction* place_of(uint64_t ip, uint64_t tsc) { return cache_.place(pid_, tsc, ip); }

  CallFunctionCache& cache_;
  CallSink* sink_;
  Slices* slices_;
  int32_t pid_;
  bool known_bottom_;
  bool ran_ = false;
  CallTree tree_;
  CallState now_;
  uint64_t instructions_ = 0;  // that are not yet accounted for
  Unsettled unsettled_ = Unsettled::kAny;
};

}  // namespace fathom::snapshot
