// From a snapshot of the kernel recorder to the kernel events of a capture's threads.
//
// Thread safety: a pure function of its arguments. Errors: none; returns how many events had no thread. Of a switch
// both threads get their half, when both are the process's.
#pragma once

#include "node-agent/capture/thread_table.h"
#include "node-agent/kernel/events.h"

namespace fathom::agent {

// `pid`: the process, as the node sees it. Also names threads that have no name yet.
uint64_t collect_kernel_events(const KernelSnapshot& snapshot, uint32_t pid, ThreadTable& threads);

}  // namespace fathom::agent
