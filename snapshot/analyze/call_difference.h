// CallDifference: two call trees laid over each other, path by path.
//
// Purpose: the paper's comparison of an execution with a tracer on and one with it off (3.4, 3.5): which calls are only
// in one of them, and what those that are in both took more. Thread safety: a plain value. Units: ticks were turned
// into time before, because two snapshots may count differently; where one knows nanoseconds and the other ticks, times
// are left out. Errors: none.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
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

  uint64_t elapsed() const { return time + paused; }
};

// By how much two rows differ, whichever way: in time and pauses, then in instructions, then in calls.
using Change = std::array<uint64_t, 3>;

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
  Change change() const {
    return {magnitude(time()) + magnitude(paused()), magnitude(instructions()), magnitude(calls())};
  }
  bool same() const { return in_first == in_second && change() == Change{}; }

 private:
  static uint64_t magnitude(int64_t difference) { return static_cast<uint64_t>(std::llabs(difference)); }
};

struct CallDifference {
  std::vector<DifferenceRow> rows;  // depth-first, what changed most first; the first one is everything
  bool timed = false;               // both count time in one unit; else there is none in the rows
  uint64_t paths_added = 0, paths_removed = 0;
  uint64_t calls_added = 0, calls_removed = 0;  // on those paths
};

// Both of all threads together.
CallDifference difference_of(const NamedCalls& first, const TraceTime& first_time, const NamedCalls& second,
                             const TraceTime& second_time);

// Which rows a list of at most `limit` (0: any number) shows: of those that differ the ones that changed most, and
// whoever they are below; the first one, everything, is always among them and does not count.
std::vector<bool> different_rows(const CallDifference& difference, uint64_t limit);

}  // namespace fathom::snapshot
