// The flags that choose programs on nodes, shared by the commands that ask nodes for something, and what nodes answer.
//
// Errors: kInvalid, naming the flag. Thread safety: pure functions.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/args.h"

namespace fathom::cli {

struct NodeChoice {
  std::string service;  // empty: any
  uint64_t pid = 0;     // 0: any
  std::string node;     // empty: all
};

// --service, --pid, --node
std::vector<Flag> node_flags();
Result<NodeChoice> node_choice(const Args& args);

// "host: why", a line for each node of an answer that has something in `member`.
std::string node_notes(const boost::json::array& nodes, const std::string& member);

}  // namespace fathom::cli
