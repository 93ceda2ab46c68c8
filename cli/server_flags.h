// The flags of fathom-server, which `fathom up` takes too and hands on.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"

namespace fathom::cli {

// --data, --http, --otlp-grpc, --otlp-http, --ingest
std::vector<Flag> place_flags();
// Where agents' spans are taken: --ingest, or 127.0.0.1:7072; a free port when --http asks for one and --ingest is not
// given, so that whoever starts several servers on free ports need not know of this one.
Result<std::string> ingest_address(const Args& args);
// --agent-socket, and what else `fathom up` hands on to the agent.
std::vector<Flag> agent_flags();
// Durability, retention, limits of size and memory.
std::vector<Flag> server_flags();

// $XDG_DATA_HOME/fathom, or ~/.local/share/fathom; empty when there is neither.
std::string default_data_directory(const std::optional<std::string>& xdg_data_home,
                                   const std::optional<std::string>& home);

// Those of `flags` that were given, as words of a command line again.
std::vector<std::string> words_of(const Args& args, const std::vector<Flag>& flags);

}  // namespace fathom::cli
