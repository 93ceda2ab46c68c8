// From one instruction to another: histograms of the time and of the instructions between them, and how often each ran.
//
// Purpose: the delta profiling of the paper (algorithm 1), with its three outputs. An interval of a thread opens when
// it runs an instruction that fits `from` while none is open, and closes at the next one that fits `to`. What fits both
// closes one and opens the next, so that `from` equal to `to` yields periods. Instructions are counted from the one
// behind `from` to `to` itself. A gap, or a stretch on another stream, breaks an open interval; these are counted.
// Thread safety: any. Errors: kInvalid for a pattern that nothing is called by.
#pragma once

#include "snapshot/analyze/question.h"

namespace fathom::snapshot {

Result<> answer_delta(const SnapshotDirectory& directory, const Question& question, const Output& output);

}  // namespace fathom::snapshot
