// The counter of what a limit dropped or cut, wherever the limit is kept: in decoders, batches, segments and the
// catalogue.
//
// Thread safety: all of it. Ownership: the registry owns the series.
#pragma once

#include <string_view>

#include "base/metrics.h"

namespace fathom::store {

Counter& limited_parts(std::string_view limit);

}  // namespace fathom::store
