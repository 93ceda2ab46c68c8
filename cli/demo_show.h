// What the demo shows when its shop has run: the slowest requests, one as a tree, and what its threads did.
//
// Thread safety: none. Errors: as Api's; kInternal when nothing was stored.
#pragma once

#include <string>

#include "cli/command.h"

namespace fathom::cli {

// `http`: HOST:PORT of the server. Returns the id of the trace that was shown.
Result<std::string> show_slowest(const std::string& http, const Context& context);

}  // namespace fathom::cli
