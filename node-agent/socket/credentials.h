// Who is at the other end of a unix socket, as the kernel says.
//
// Purpose: programs say nothing of themselves that the agent believes. Thread safety: a plain function. Errors:
// nothing, when the kernel does not say it.
#pragma once

#include <sys/types.h>

#include <optional>

#include "node-agent/agent/process_life.h"

namespace fathom::agent {

struct Peer {
  uid_t uid = 0;
  pid_t pid = 0;  // in our namespace; 0: not visible there
  // Unknown when it is over, or not visible. From Linux 6.5 on it is certain that this is no later process of that
  // number.
  ProcessId process;
};

std::optional<Peer> peer_of(int socket);

}  // namespace fathom::agent
