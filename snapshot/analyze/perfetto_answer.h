// Calls as slices of threads for Perfetto's page (docs/formats/perfetto.md).
//
// Thread safety: any. Errors: those of the snapshot. The format of the question is of no interest; --limit is the most
// calls of a thread (a million, if none is given); what is left out is counted and said.
#pragma once

#include <string>

#include "snapshot/analyze/call_answer.h"

namespace fathom::snapshot {

Result<> answer_perfetto(const SnapshotDirectory& directory, const Question& question, const Output& output);

// A begin or an end, in the order of a thread's time.
struct ThreadSlice {
  uint64_t tsc = 0;
  const CallFunction* function = nullptr;  // nullptr: the innermost one ends
};
// With the callers that were discovered later where they began; as many ends as begins.
std::vector<ThreadSlice> balanced_slices(const Slices& slices, uint64_t last_tsc);

}  // namespace fathom::snapshot
