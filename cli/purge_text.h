// What a purge did, or would do, for people.
//
// Thread safety: a plain function. `purged`: the counts as the server and `fathom store purge --json` write them.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "cli/exit_codes.h"

namespace fathom::cli {

std::string purge_text(const boost::json::value& purged, bool is_dry_run);
// kNothingFound: nothing matched; kDataUnusable: captures are left that nobody can decode.
ExitCode purge_exit_code(const boost::json::value& purged);

}  // namespace fathom::cli
