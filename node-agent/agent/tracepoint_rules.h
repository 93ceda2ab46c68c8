// TracepointRules: which tracepoints people asked for, in which programs.
//
// Purpose: remembers it for programs that come later. What a program is told is the patterns of all rules that are
// about it, in the order in which they were given; the last one that fits counts (docs/formats/agent-socket.md). A
// pattern that is given again for the same programs, also with the other sign, replaces the one before. Thread safety:
// none. Errors: kInvalid for what is no list of patterns, and for more than a program remembers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "node-agent/agent/process_life.h"

namespace fathom::agent {

// One process, or all of a service, or all.
struct TracepointSelector {
  std::optional<ProcessId> process;
  std::string service;

  bool covers(const ProcessId& of_process, std::string_view of_service) const;
  bool operator==(const TracepointSelector& other) const;
};

class TracepointRules {
 public:
  // "cache.*,-cache.hit": separated by commas; a leading - switches off.
  Result<> add(const TracepointSelector& selector, std::string_view patterns);
  // What to tell this process.
  std::string patterns_of(const ProcessId& process, std::string_view service) const;
  bool has_any() const { return !rules_.empty(); }

 private:
  struct Rule {
    TracepointSelector selector;
    std::string pattern;  // with its sign
  };
  size_t bytes() const;

  std::vector<Rule> rules_;
};

}  // namespace fathom::agent
