// deadly_signals(): which recorded threads a signal killed, and at which instruction.
//
// Purpose: one wording of a crash, for answers and for the recorder's own report. An instruction that faults does not
// retire: the flow ends before it. Thread safety: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

struct DeadlySignal {
  int signal = 0;
  int32_t tid = -1;
  uint64_t address = 0;  // of the instruction that did not run
};

// In the order of recording.
std::vector<DeadlySignal> deadly_signals(const Snapshot& snapshot);

// "SIGSEGV"; "signal 35" where it has no name.
std::string signal_name(int signal);

}  // namespace fathom::snapshot
