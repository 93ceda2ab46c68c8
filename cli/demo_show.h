// What the demo shows when its shop has run: the slowest requests, one as a tree, and what its threads did.
//
// Thread safety: none. Errors: as Api's; kInternal when nothing was stored.
#pragma once

#include <string>

#include "cli/command.h"

namespace fathom::cli {

struct ShownRequest {
  std::string trace_id;
  bool waited_for_lock = false;  // one of its threads waited in futex() for most of its time
};

// `http`: HOST:PORT of the server.
Result<ShownRequest> show_slowest(const std::string& http, const Context& context);

}  // namespace fathom::cli
