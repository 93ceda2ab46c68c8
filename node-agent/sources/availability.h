// Availability: what this host lets a source record, and what helps if it does not.
//
// Purpose: `fathom doctor`, by way of `fathom-agent --print-sources`. Thread safety: plain values. Errors: none.
#pragma once

#include <string>
#include <vector>

namespace fathom::agent {

struct Availability {
  std::string name;  // of what is recorded: "system calls"
  bool available = false;
  std::string why_not;  // empty if it is available
  std::string cure;
};

// [{"name","available","why_not","cure"}...]
std::string availability_json(const std::vector<Availability>& all);

}  // namespace fathom::agent
