// make_sources(): the sources that fathom-agent has: the one list of them.
//
// Thread safety: any thread. Ownership: the caller's. Errors: none; Source::availability() says what this host forbids.
#pragma once

#include "apps/agent/options.h"
#include "node-agent/sources/sources.h"

namespace fathom {

agent::Sources make_sources(const AgentProgramOptions& options);

}  // namespace fathom
