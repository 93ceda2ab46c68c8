// Where the agent's socket is: the places where traced programs look, and the one that `fathom up` takes.
//
// Purpose: a program finds the agent of its host without being told: $FATHOM_AGENT_SOCKET; where that is not set,
// /run/fathom/agent.sock, then $XDG_RUNTIME_DIR/fathom/agent.sock. This repeats choose_sockets() of client/setup.cc,
// which traced programs have in them: a variable that is set to nothing, or to what no socket can be called, means that
// no agent is looked for; "@name" is an abstract socket. Thread safety: pure functions, but for a look at the file
// system. Errors: kInvalid for a path that no socket can have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/args.h"
#include "cli/context.h"

namespace fathom::cli {

struct AgentSocket {
  std::string path;
  bool found_by_itself = true;  // false: programs must be told, by $FATHOM_AGENT_SOCKET
};

inline constexpr size_t kMostSocketPathBytes = 107;

// Where programs look, first to last; also what is too long, of which they make nothing.
std::vector<std::string> agent_socket_places(const Context& context);

// --agent-socket, or the first of those places that this user may write to and no other agent has; or else in the data
// directory.
Result<AgentSocket> choose_agent_socket(const Args& args, const Context& context, const std::string& data_directory);

// The last part of it.
Result<AgentSocket> first_free_place(const std::vector<std::string>& places, const std::string& data_directory);

enum class SocketState { kAbsent, kStale, kLive, kForbidden, kTooLong };
// Whether an agent listens there; the connection ends at once.
SocketState look_at_agent_socket(const std::string& path);

}  // namespace fathom::cli
