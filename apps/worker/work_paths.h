// work_paths(): the files that a worker needs for its task, and the rights over each.
//
// Purpose: known from the command line and the names of snapshots alone, before anything hostile is read. A question
// reads its own snapshots, no other, and changes none. Thread safety: pure function. Errors: none; whether the paths
// exist is not checked.
#pragma once

#include <vector>

#include "apps/worker/options.h"
#include "apps/worker/sandbox/landlock.h"

namespace fathom {

// `question`: with the ids of the snapshots that it is about.
std::vector<AllowedPath> work_paths(const WorkerOptions& options, const snapshot::Question& question);

}  // namespace fathom
