// The query face's requests for nodes, in the words of the collector's router, and its answers back: neither part knows
// the other.
//
// Thread safety: any thread. Ownership: shares the router. Bounds: of answers, those of
// collector/control/pending_requests.h.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collector/control/control_router.h"
#include "query/control.h"

namespace fathom {

std::shared_ptr<query::Control> make_node_control(std::shared_ptr<collector::ControlRouter> router,
                                                  std::shared_ptr<const collector::NodePort> nodes);

// The connected node that `text` names: its host's name, or the first digits (at least four) of its id.
Result<collector::NodeId> find_node(const std::vector<collector::ConnectedNode>& nodes, std::string_view text);

}  // namespace fathom
