// run_purge(): performs the purge that a PurgeDesk took, while the server is stopped.
//
// Thread safety: the thread that waits for signals. Errors: go to the desk.
#pragma once

#include <string>

#include "cli/signals.h"
#include "query/purge/purge_desk.h"

namespace fathom {

struct PurgeRun {
  bool is_stopped = false;       // a signal asked the process to end
  bool is_reload_asked = false;  // SIGHUP came
};

// A purge that is stopped before its copy is complete has changed nothing.
PurgeRun run_purge(query::PurgeDesk& desk, const std::string& data, cli::Signals& signals);

}  // namespace fathom
