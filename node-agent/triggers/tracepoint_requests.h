// What a collector asks about tracepoints: which there are, and to switch them.
//
// Thread safety: on the agent's loop. Errors: as words in the answer. Limits: kMostListed tracepoints, the others are
// left out. A program switches some milliseconds after it was told; what is said of those that were just switched is
// what they were told.
#pragma once

#include "node-agent/agent/agent.h"
#include "node-agent/control.h"

namespace fathom::agent {

inline constexpr size_t kMostListed = 10'000;

TracepointAnswer answer_tracepoints(Agent& agent, const TracepointRequest& request);
// '*' stands for anything, also nothing.
bool fits_pattern(std::string_view pattern, std::string_view name);

}  // namespace fathom::agent
