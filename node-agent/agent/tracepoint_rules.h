// TracepointRules: which tracepoints people asked for, in which programs.
//
// Purpose: remembers it for programs that come later. What a program is told is the patterns of all rules that are
// about it, in the order in which they were given; the last one that fits counts (docs/formats/agent-socket.md). A
// pattern replaces those before that it covers, of the same programs (or of fewer) and from the same origin, also with
// the other sign. What the collector says stands apart from what this host's people say: it says all of it again
// whenever it connects, which must not undo what was said here since. Thread safety: none. Errors: kInvalid for what is
// no list of patterns, and for more than a program remembers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "node-agent/agent/process_life.h"
#include "node-agent/control.h"

namespace fathom::agent {

// One process, or all of a service, or all.
struct TracepointSelector {
  std::optional<ProcessId> process;
  std::string service;

  bool covers(const ProcessId& of_process, std::string_view of_service) const;
  bool covers(const TracepointSelector& other) const;
  bool operator==(const TracepointSelector& other) const;
};

enum class RuleOrigin : uint8_t {
  kHere,   // holds until this agent ends
  kFleet,  // the collector knows it, and says it again
};

class TracepointRules {
 public:
  // "cache.*,-cache.hit": separated by commas; a leading - switches off.
  Result<> add(const TracepointSelector& selector, std::string_view patterns, RuleOrigin origin = RuleOrigin::kHere);
  // The collector's, all of them. Those that are known already, and in the same order, keep their places among the
  // others. Where they are too many with those of here, the oldest of those go.
  Result<> replace_fleets(const std::vector<TracepointRule>& rules);
  // What to tell this process.
  std::string patterns_of(const ProcessId& process, std::string_view service) const;
  bool has_any() const { return !rules_.empty(); }

 private:
  struct Rule {
    TracepointSelector selector;
    std::string pattern;  // with its sign
    RuleOrigin origin = RuleOrigin::kHere;

    bool covers(const Rule& older) const;
    bool operator==(const Rule& other) const;
  };
  void push(Rule rule);
  size_t bytes() const;
  size_t known_of(const std::vector<Rule>& fleets) const;
  void keep_fleets(size_t count);
  void make_room();

  std::vector<Rule> rules_;
};

}  // namespace fathom::agent
