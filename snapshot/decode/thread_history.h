// ThreadHistory: which thread ran on a stream when, and what of its recording is known to be missing.
//
// Purpose: the sideband's rows that concern one stream, in the order of time. Thread safety: const after construction.
// Errors: none; what is not known is thread 0 of process 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/decode/flow.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

struct RunningThread {
  int32_t pid = 0;
  int32_t tid = 0;

  bool operator==(const RunningThread&) const = default;
};

struct ThreadSwitch {
  uint64_t tsc = 0;
  RunningThread to;
};

struct RecordedLoss {
  uint64_t tsc = 0;
  GapReason reason = GapReason::kNone;
  std::string cause;
};

struct ThreadHistory {
  RunningThread first;
  std::vector<ThreadSwitch> switches;
  std::vector<RecordedLoss> losses;
  std::vector<ThreadSwitch> programs;  // exec: when a process becomes another program

  // The thread that runs at a time.
  RunningThread at(uint64_t tsc) const;
};

// One for each stream. A row that concerns several streams is a loss of the first of them alone.
std::vector<ThreadHistory> thread_histories(const Snapshot& snapshot);

}  // namespace fathom::snapshot
