// The rows that are fathom's. Errors: a row's fault() counts what the client lost meanwhile.
#pragma once

#include <vector>

#include "bench/tracers/row.h"

namespace fathom::bench::tracers {

// Spans, and tracepoints that are on and off.
std::vector<RowEntry> own_rows();
// A tracepoint whose clock read is compiled out: what the rest of it costs.
std::vector<RowEntry> rows_without_clock();

}  // namespace fathom::bench::tracers
