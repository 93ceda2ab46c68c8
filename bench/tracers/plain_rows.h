// The rows that need no tracer: nothing, a clock, a clock and a store, LW-ust, printf, and an empty system call.
#pragma once

#include <vector>

#include "bench/tracers/row.h"

namespace fathom::bench::tracers {

std::vector<RowEntry> plain_rows();

}  // namespace fathom::bench::tracers
