// The instructions that ran, in order: address, text, function, line, time; gaps, pauses and interrupts between them.
//
// As a table or JSON, written as it is decoded; as a picture, the functions that ran over time; `count_only`: the
// number of decoded instructions, then that of gaps, one on a line. Thread safety: any. Errors: those of the snapshot.
#pragma once

#include "snapshot/analyze/question.h"

namespace fathom::snapshot {

Result<> answer_insns(const SnapshotDirectory& directory, const Question& question, const Output& output);

}  // namespace fathom::snapshot
