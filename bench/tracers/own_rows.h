// The rows that are fathom's. Errors: a row's fault() counts what the client lost meanwhile.
#pragma once

#include <vector>

#include "bench/tracers/row.h"

namespace fathom::bench::tracers {

std::vector<RowEntry> own_rows();

}  // namespace fathom::bench::tracers
