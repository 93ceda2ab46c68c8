// A table of text: base/table.h, by the names that this folder uses.
#pragma once

#include "base/table.h"
#include "cli/text.h"

namespace fathom::cli {

using fathom::Column;
using fathom::Table;

}  // namespace fathom::cli
