// CallIndex: a thread's calls as intervals of time and of rows, depth by depth; and where nothing was recorded.
//
// Purpose: what a picture of calls over time is cut from. It goes through a PackedFlow once, with the machine that
// knows the rules (call_machine.h), and notes at which row it says that a call begins or ends. The calls of a depth are
// in order and never overlap; what a call made lies within it, one depth below. A call that took no row is none. Thread
// safety: const functions from any thread. Ownership: refers to the functions it was given. Memory: 40 bytes a call; at
// most `most_calls` are kept, and kMostDepths; the rest is counted. Units: ticks, rows. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snapshot/decode/call_functions.h"
#include "snapshot/view/packed_flow.h"

namespace fathom::snapshot {

struct Call {
  uint64_t start = 0;  // ticks
  uint64_t end = 0;
  uint32_t first_row = 0;
  uint32_t end_row = 0;   // the first one that is not its own any more
  uint32_t function = 0;  // CallIndex::functions
  uint32_t instructions = 0;
  uint32_t self_instructions = 0;
  bool began_before = false;
  bool ended_after = false;
};

struct Break {
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t first_row = 0;
  uint32_t end_row = 0;
  GapReason gap = GapReason::kNone;  // kNone: a pause
};

class CallIndex {
 public:
  static constexpr size_t kMostDepths = 4096;

  CallIndex(const PackedFlow& flow, CallFunctions& functions, int32_t pid, uint64_t most_calls);

  size_t depths() const { return depths_.size(); }
  const std::vector<Call>& depth(size_t depth) const { return depths_[depth]; }
  const CallFunction& function(uint32_t number) const { return *functions_[number]; }
  size_t functions() const { return functions_.size(); }
  const std::vector<Break>& breaks() const { return breaks_; }
  uint64_t calls() const { return calls_; }
  uint64_t left_out_calls() const { return left_out_; }

  // Of a depth, the one that holds the row.
  const Call* at(size_t depth, uint64_t row) const;
  // How many depths hold the row: at() of all smaller ones is there.
  size_t depth_at(uint64_t row) const;

 private:
  friend class CallIndexBuilder;
  std::vector<std::vector<Call>> depths_;
  std::vector<const CallFunction*> functions_;
  std::vector<Break> breaks_;
  uint64_t calls_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace fathom::snapshot
