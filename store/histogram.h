// The latency histogram of indexes: base/histogram.h, by the name that this folder's interfaces use.
#pragma once

#include "base/histogram.h"

namespace fathom::store {

using fathom::Histogram;

}  // namespace fathom::store
