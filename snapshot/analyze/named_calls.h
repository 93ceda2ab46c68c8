// NamedCalls: the call trees of a snapshot's threads as one tree of names, in the order in which it is written.
//
// Purpose: what tables, JSON and pictures of calls are made from. The same name below the same names is one row,
// whichever process showed it where. Rows are in depth-first order, so that nobody who writes them needs to recurse;
// children by CallRank, the most first, but for threads that are to come before the others. Thread safety: a plain
// value. Units: ticks. Errors: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "snapshot/decode/call_stack.h"

namespace fathom::snapshot {

// What decides which of two calls comes first; of equal ones their instructions do, then their names.
enum class CallRank : uint8_t {
  kInstructions,  // with what it called
  kTime,          // with what it called and with pauses; by instructions where no packet of the snapshot tells time
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
  std::vector<CallRow> rows;                // the first one is everything; then, if threads are told apart, a thread
  CallRank rank = CallRank::kInstructions;  // by which they are in order

  // Of a row with what it called: instructions, or ticks with pauses.
  uint64_t size(const CallRow& row) const;
};

using FunctionNames = std::function<std::string(const CallFunction&)>;
using ThreadNames = std::function<std::string(const ThreadKey&)>;  // empty: threads are not told apart

// `foremost`: threads that come first, in this order.
NamedCalls name_calls(const std::vector<ThreadCalls>& threads, const FunctionNames& functions,
                      const ThreadNames& thread_names, const std::vector<int32_t>& foremost = {},
                      CallRank rank = CallRank::kInstructions);

// Which of the rows are the `limit` greatest (0: all), by the rank of `calls`. Half of them are of the thread that
// comes before the others, where it has so many. Whoever is there has its parent there.
std::vector<bool> greatest_rows(const NamedCalls& calls, uint64_t limit);

}  // namespace fathom::snapshot
