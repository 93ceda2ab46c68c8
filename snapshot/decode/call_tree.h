// CallTree: what one thread ran, by the path of calls that led there.
//
// Purpose: a node stands for a function below the same callers; however often it was called, there is one. Nodes are
// numbers, so that trees of parts can be grafted onto each other in one pass: a parent has the smaller number, except
// where a caller was discovered later (discover()). Thread safety: none needed. Units: ticks of the time-stamp counter.
// Source of the idea: calling context trees (Ammons, Ball, Larus, PLDI 1997).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "snapshot/decode/call_functions.h"

namespace fathom::snapshot {

// Of one node, without what it called.
struct CallStats {
  uint64_t calls = 0;  // that were seen to begin; 0: it was under way when recording began. Of a gap: how many
  uint64_t instructions = 0;
  uint64_t ticks = 0;        // while it was recorded
  uint64_t pauses = 0;       // system calls, other threads' turns
  uint64_t pause_ticks = 0;  // that they took
  // Of the calls that were seen from beginning to end, with what they called, and pauses.
  uint64_t complete = 0;
  uint64_t complete_ticks = 0;
  uint64_t min_ticks = UINT64_MAX;
  uint64_t max_ticks = 0;

  // Time by the clock: recorded and paused.
  uint64_t elapsed_ticks() const { return ticks + pause_ticks; }
  void add(const CallStats& other);
  void completed(uint64_t ticks);
  bool operator==(const CallStats&) const = default;
};

enum class CallRole : uint8_t {
  kFunction,
  kFloor,   // below it nothing is known of the stack: the callers of its children may be discovered yet
  kFrame,   // of a part: the frame that was on top when the piece began
  kParent,  // of a part: the caller of that
};

struct CallNode {
  CallStats stats;
  uint64_t called_from = 0;  // the address of the first call that was seen; 0: none was
  uint64_t seen_at = 0;      // an instruction that ran here, looked at once in a while: likely a hot one. 0: never was
  const CallFunction* function = nullptr;
  uint32_t parent = 0;
  uint16_t depth = 0;
  CallRole role = CallRole::kFunction;
  GapReason reason = GapReason::kNone;  // of a floor: behind which gap; kNone: behind the beginning

  void count_call(uint64_t from) {
    ++stats.calls;
    if (called_from == 0) called_from = from;
  }
  // `other` is the same node, of a later stretch.
  void add(const CallNode& other) {
    stats.add(other.stats);
    if (called_from == 0) called_from = other.called_from;
    if (other.seen_at != 0) seen_at = other.seen_at;
  }
};

class CallTree {
 public:
  static constexpr uint32_t kRoot = 0;  // the thread
  static constexpr uint32_t kNone = UINT32_MAX;

  CallTree();

  uint32_t child(uint32_t parent, const CallFunction* function) {
    const uint64_t key = key_of(parent, function);
    Slot& slot = slots_[slot_of(key)];
    return slot.key == key ? slot.node : find_or_add(parent, function);
  }
  uint32_t add(CallRole role, GapReason reason);
  // `floor` turns out to be `function`, called by nobody knows whom: returns the new floor below which it stands.
  uint32_t discover(uint32_t floor, const CallFunction* function);

  CallNode& operator[](uint32_t node) { return nodes_[node]; }
  const CallNode& operator[](uint32_t node) const { return nodes_[node]; }
  size_t size() const { return nodes_.size(); }
  std::span<const CallNode> nodes() const { return nodes_; }

  // Makes one tree of it: what lies above a floor that is not `kept` moves to where it belongs, below the thread or
  // below its gap's node. Parents come first again. Returns the new numbers.
  std::vector<uint32_t> compact(std::span<const uint32_t> kept);

 private:
  struct Slot {
    uint64_t key = UINT64_MAX;
    uint32_t node = kNone;
  };
  // Deeper calls (of a runaway recursion) stand beside each other.
  static constexpr uint16_t kMostDepth = 1024;

  static uint64_t key_of(uint32_t parent, const CallFunction* function) {
    return uint64_t{parent} << 32 | function->id;
  }
  size_t slot_of(uint64_t key) const { return (key * 0x9e3779b97f4a7c15) >> shift_; }
  uint32_t find_or_add(uint32_t parent, const CallFunction* function);
  Slot& probe(uint64_t key);
  void enlarge();

  std::vector<CallNode> nodes_;
  std::vector<Slot> slots_;
  size_t used_ = 0;
  int shift_ = 0;
};

}  // namespace fathom::snapshot
