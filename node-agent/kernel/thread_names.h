// Names of living threads, from /proc.
//
// Thread safety: pure reads. Errors: threads that ended meanwhile, or may not be seen, are left out. Bounds: the first
// kMostNamedThreads of a process.
#pragma once

#include <sys/types.h>

#include <set>
#include <vector>

#include "node-agent/kernel/events.h"

namespace fathom::agent::kernel {

inline constexpr size_t kMostNamedThreads = 4096;
std::vector<ThreadName> thread_names(pid_t pid, const std::set<int32_t>& tids);

// Whether this is the id of a thread of some process, and not of the process. /proc shows such a one, too.
bool is_thread_id(pid_t id);

}  // namespace fathom::agent::kernel
