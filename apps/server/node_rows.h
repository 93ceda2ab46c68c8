// The collector's nodes in the words of the query face: neither part knows the other.
//
// Thread safety: any thread.
#pragma once

#include <vector>

#include "collector/agents/registry.h"
#include "query/nodes.h"

namespace fathom {

std::vector<query::NodeRow> node_rows(collector::NodeRegistry& registry);

}  // namespace fathom
