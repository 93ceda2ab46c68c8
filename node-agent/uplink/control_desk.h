// What a collector asks, handed to whom it concerns.
//
// Purpose: requests for other nodes, and such as cannot be obeyed, are answered here. Thread safety: on the loop's
// thread, answers too. Ownership: `answer` is kept until the handler has answered; it gets the message to send.
#pragma once

#include <functional>
#include <string>

#include "node-agent/control.h"
#include "node-agent/uplink/link.h"

namespace fathom::agent {

void hand_over(LinkControl asked, const NodeId& node_id, ControlHandler& handler,
               std::function<void(std::string)> answer);

}  // namespace fathom::agent
