// TracepointRules: which tracepoints people switched, of all processes of a service, a node, or the fleet.
//
// Purpose: agents that connect later, or missed it, are told, so that hosts do not differ by when they came. Rules
// stand in the order in which they were said; of several that fit a name the last one counts. So one that covers an
// older one (its pattern, its service, its node) takes the older one's place, whatever that said. What was said of one
// process is none: it goes with the process. Thread safety: none, a plain value. Bounds: ingest::kMostRules, and
// kMostRulesBytes of patterns. Errors: kInvalid for what is no pattern, and for too many; nothing changes then.
#pragma once

#include <vector>

#include "base/result.h"
#include "collector/agents/control.h"

namespace fathom::collector {

class TracepointRules {
 public:
  static bool are_made_by(const TracepointRequest& request);

  Result<> add(const TracepointRequest& request);
  Result<> add(TracepointRule rule);

  const std::vector<TracepointRule>& all() const { return rules_; }
  // What this node is to know.
  std::vector<TracepointRule> of(const NodeId& node) const;

 private:
  std::vector<TracepointRule> rules_;
};

}  // namespace fathom::collector
