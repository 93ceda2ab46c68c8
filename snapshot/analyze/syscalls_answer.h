// System calls: how often, how long, which were interrupted.
//
// A call lasts from its instruction until its thread runs user code again, whether the kernel was recorded or not. It
// is named by the number that the recorder wrote down, else by the constant that the code put into eax, else after the
// function around it. Interrupted: it came back to another place than behind the call (a signal's handler, or the call
// itself, to be made again). Thread safety: any. Errors: those of the snapshot.
#pragma once

#include "snapshot/analyze/question.h"

namespace fathom::snapshot {

Result<> answer_syscalls(const SnapshotDirectory& directory, const Question& question, const Output& output);

}  // namespace fathom::snapshot
