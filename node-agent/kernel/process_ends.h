// Finds how a process ended in the table that the BPF programs write (docs/formats/kernel-rings.md).
//
// Thread safety: a pure read beside the kernel's writes. Errors: no value if the table does not have the process:
// nothing was attached when it ended, or the end of another process took its place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "node-agent/agent/process_life.h"

namespace fathom::agent::kernel {

// The wait status (wait(2)).
std::optional<int> find_exit_status(std::span<const uint64_t> ends, const ProcessId& process);

}  // namespace fathom::agent::kernel
