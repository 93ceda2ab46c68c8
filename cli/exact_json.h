// JSON into a document whose doubles are exactly the written ones.
//
// Purpose: boost::json's own reader is off by a last digit for one double in ten, and people paste what they see into
// --where, which compares texts. Errors: kCorrupt for what is no JSON, or nested deeper than 32. Thread safety: pure.
#pragma once

#include <boost/json.hpp>
#include <string_view>

#include "base/result.h"

namespace fathom::cli {

Result<boost::json::value> parse_exactly(std::string_view text);

}  // namespace fathom::cli
