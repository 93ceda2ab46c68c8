// The file that a process has mapped, opened even where it was deleted, replaced, or lies in another mount namespace.
//
// Thread safety: as the system's. Errors: a closed Fd when there is none that is the mapped one for certain.
#pragma once

#include "base/fd.h"
#include "snapshot/format/perf_records.h"
#include "snapshot/record/pt/perf_system.h"

namespace fathom::snapshot {

// By /proc/PID/map_files (which wants CAP_CHECKPOINT_RESTORE), else below the process's root directory, else by its
// name; checked by the inode and the build-id that the map has.
Fd open_mapped_file(const PerfSystem& system, const Sideband& row, const PerfMapping& mapping);

// Whether everybody may enter the directories above it, as the process sees them; of one that has ended, as we do.
bool is_reachable(const PerfSystem& system, const Sideband& row, const PerfMapping& mapping);

}  // namespace fathom::snapshot
