// NamedCalls: the call trees of a snapshot's threads as one tree of names, in the order in which it is written.
//
// Purpose: the base of tables, JSON and pictures of calls. Calls with the same path of names are one row, also if they
// are of several processes. Rows are in depth-first order, so that writers need no recursion. Children are sorted by
// CallRank, the greatest first, after the threads of `foremost`. Thread safety: a plain value. Units: ticks. Errors:
// none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "snapshot/decode/call_stack.h"

namespace fathom::snapshot {

// The order of calls. Equal calls are sorted by instructions, then by name.
enum class CallRank : uint8_t {
  kInstructions,  // including callees
  kTime,          // including callees and pauses; by instructions if no packet of the snapshot has a time
};

struct CallRow {
  std::string name;
  uint32_t parent = 0;
  uint32_t depth = 0;
  uint32_t end = 0;          // the row behind all that it called
  CallStats self;            // calls, complete, min, max are of the calls
  CallStats total;           // instructions, ticks, pauses, pause_ticks: with what it called
  uint64_t called_from = 0;  // the address of a call of it; 0: none was seen
  uint64_t seen_at = 0;      // an instruction that it ran itself, likely a hot one; 0: it ran too few
  bool is_gap = false;
  uint32_t precedence = 0;                 // of a thread that comes before those with less
  const CallFunction* function = nullptr;  // one of that name; nullptr: a thread, or everything
};

struct NamedCalls {
  std::vector<CallRow> rows;                // the first row is the total; its children are threads, if separate
  CallRank rank = CallRank::kInstructions;  // the order of the rows

  // Instructions, or ticks with pauses, including callees.
  uint64_t size(const CallRow& row) const;
};

using FunctionNames = std::function<std::string(const CallFunction&)>;
using ThreadNames = std::function<std::string(const ThreadKey&)>;  // empty: threads are not told apart

// `foremost`: threads that come first, in this order.
NamedCalls name_calls(const std::vector<ThreadCalls>& threads, const FunctionNames& functions,
                      const ThreadNames& thread_names, const std::vector<int32_t>& foremost = {},
                      CallRank rank = CallRank::kInstructions);

// Selects the `limit` greatest rows (0: all) by the rank of `calls`. Up to half of them are rows of the foremost
// thread. The parent of a selected row is selected, too.
std::vector<bool> greatest_rows(const NamedCalls& calls, uint64_t limit);

}  // namespace fathom::snapshot
