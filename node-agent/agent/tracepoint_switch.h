// TracepointSwitch: tells programs which of their tracepoints are on.
//
// Purpose: the agent's half of that message of docs/formats/agent-socket.md: to each connection once, and again when
// the rules have changed, or the program has said what service it is. Thread safety: none, belongs to the agent's loop.
// Ownership: what it refers to must outlive it. Errors: switch_tracepoints() says what is wrong with its arguments; a
// program that reads too slowly is told later.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "node-agent/agent/programs.h"
#include "node-agent/agent/tracepoint_rules.h"
#include "node-agent/socket/listener.h"

namespace fathom::agent {

class TracepointSwitch {
 public:
  Result<> add(const TracepointSelector& selector, std::string_view patterns, RuleOrigin origin,
               const Programs& programs);
  Result<> replace_fleets(const std::vector<TracepointRule>& rules);
  // A span pool of this program was taken over the connection. Whether it will be told something.
  bool welcome(ConnectionId connection, Program& program);
  void forget(ConnectionId connection);
  // Tells who is to be told.
  void tick(uint64_t now_monotonic_nano, const Programs& programs, Listener& listener);

 private:
  void look_at(Program& program, Listener& listener);
  void tell(ConnectionId connection, const std::string& patterns, Listener& listener);

  TracepointRules rules_;
  std::map<ConnectionId, std::string> told_;  // as far as it is not nothing
  bool changed_ = false;
  uint64_t next_look_nano_ = 0;
};

}  // namespace fathom::agent
