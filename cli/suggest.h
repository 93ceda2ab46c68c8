// "Did you mean ...?": base/suggest.h, by the names that this folder uses.
#pragma once

#include "base/suggest.h"

namespace fathom::cli {

using fathom::did_you_mean;
using fathom::edit_distance;
using fathom::nearest;
using fathom::nearest_few;

}  // namespace fathom::cli
