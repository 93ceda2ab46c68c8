// Text on a terminal: base/text.h, by the names that this folder uses.
#pragma once

#include "base/text.h"

namespace fathom::cli {

using fathom::Align;
using fathom::CodePoint;
using fathom::cut_to_width;
using fathom::display_width;
using fathom::group_digits;
using fathom::json_safe;
using fathom::lines_shown;
using fathom::pad_to_width;
using fathom::plural;
using fathom::printable;
using fathom::short_instant;
using fathom::take_code_point;

}  // namespace fathom::cli
