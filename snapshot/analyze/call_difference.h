// CallDifference: two call trees laid over each other, path by path.
//
// Purpose: the paper's comparison of an execution with a tracer on and one with it off (3.4, 3.5): which calls are only
// in one of them, and what those that are in both took more. Thread safety: a plain value. Units: ticks were turned
// into time before, because two snapshots may count differently. Errors: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/analyze/named_calls.h"
#include "snapshot/analyze/trace_time.h"

namespace fathom::snapshot {

struct CallAmounts {
  uint64_t calls = 0;
  uint64_t instructions = 0;  // with what was called, as time
  uint64_t self_instructions = 0;
  uint64_t time = 0;  // without pauses
  uint64_t paused = 0;
};

struct DifferenceRow {
  std::string name;
  uint32_t parent = 0;
  uint32_t depth = 0;
  bool in_first = false;
  bool in_second = false;
  CallAmounts first;
  CallAmounts second;

  int64_t calls() const { return static_cast<int64_t>(second.calls - first.calls); }
  int64_t instructions() const { return static_cast<int64_t>(second.instructions - first.instructions); }
  int64_t self_instructions() const { return static_cast<int64_t>(second.self_instructions - first.self_instructions); }
  int64_t time() const { return static_cast<int64_t>(second.time - first.time); }
  int64_t paused() const { return static_cast<int64_t>(second.paused - first.paused); }
  bool same() const { return in_first == in_second && calls() == 0 && instructions() == 0; }
};

struct CallDifference {
  std::vector<DifferenceRow> rows;  // depth-first, the greatest first; the first one is everything
  uint64_t paths_added = 0, paths_removed = 0;
  uint64_t calls_added = 0, calls_removed = 0;  // on those paths
};

// Both of all threads together.
CallDifference difference_of(const NamedCalls& first, const TraceTime& first_time, const NamedCalls& second,
                             const TraceTime& second_time);

}  // namespace fathom::snapshot
