// A system whose Intel PT is a software event: for measuring what surrounds the hardware, where there is none.
//
// Purpose: opens a dummy event where Intel PT is asked for, with its ring, and plain memory for the area of packets;
// stopping and starting it goes through the kernel as it would. Thread safety: as the real one. Nothing is recorded.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "snapshot/record/pt/perf_system.h"

namespace fathom::snapshot {

// Writes the description of a processor with PT below `scratch`, which must exist and be empty.
Result<std::unique_ptr<PerfSystem>> stand_in_perf_system(const std::string& scratch);

}  // namespace fathom::snapshot
