// What the snapshot is made of: packets by kind, bytes per instruction and per time, how finely time is known, gaps,
// images, threads, losses.
//
// Thread safety: any. Errors: those of the snapshot.
#pragma once

#include "snapshot/analyze/question.h"

namespace fathom::snapshot {

Result<> answer_stats(const SnapshotDirectory& directory, const Question& question, const Output& output);

}  // namespace fathom::snapshot
