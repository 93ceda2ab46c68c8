// run_purge(): performs the purge that a PurgeDesk took, while the server is stopped.
//
// Thread safety: the thread that waits for signals. Errors: the desk tells them to whoever asked.
#pragma once

#include <string>

#include "cli/signals.h"
#include "query/purge/purge_desk.h"

namespace fathom {

// False: a signal asked the process to end. A purge whose copy is not complete has changed nothing then.
bool run_purge(query::PurgeDesk& desk, const std::string& data, cli::Signals& signals);

}  // namespace fathom
