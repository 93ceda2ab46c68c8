// The agent's limits, made to fit its limit of open files.
//
// Purpose: each connection and each pool is a descriptor, and so is what strangers sent and could not be closed yet.
// Where they could take all that this process may have, it could not look after processes, connect, or spool any more;
// so some are kept back for its own. Thread safety: pure.
#pragma once

#include <cstdint>

#include "node-agent/agent/agent.h"

namespace fathom::agent {

// Of all, for the agent's own: gRPC, the spool, /proc, pools on their way to the supervisor.
inline constexpr uint64_t kOwnDescriptors = 512;

// `most_open`: how many descriptors this process may have.
AgentOptions fit_descriptors(AgentOptions options, uint64_t most_open);
uint64_t most_open_files();  // as the system says, now

}  // namespace fathom::agent
