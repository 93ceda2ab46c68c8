// NodeStreams: the NodePort: the streams of agents that are open now and take requests.
//
// Purpose: who has something to ask finds the node's newest stream here, and hears in order that nodes come and go:
// of one node, node_connected() and node_gone() alternate, whichever threads its streams begin and end on, and in
// whichever order they come here: which one is newer their numbers say, which are of one registry at a time. Thread
// safety: all of it; NodeAnswers is called without the lock that connected() and send() take, so it may call both.
// Ownership: wires are held weakly. Errors: as NodePort says.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collector/agents/control.h"
#include "collector/agents/session_wire.h"

namespace fathom::collector {

class NodeStreams : public NodePort {
 public:
  // A stream of this node, which takes the place of an older one; nothing happens where there is a newer one. `answers`
  // may be null.
  void attach(const ConnectedNode& node, std::weak_ptr<SessionWire> wire, NodeAnswers* answers);
  // Nothing happens when another stream has taken its place.
  void detach(uint64_t stream, NodeAnswers* answers);

  std::vector<ConnectedNode> connected() const override;  // by node id
  bool send(const NodeId& node, std::string message) override;

 private:
  struct Entry {
    ConnectedNode node;
    std::weak_ptr<SessionWire> wire;
  };
  enum class Place : uint8_t { kNew, kOfOlder, kOfNewer };

  Place put(const ConnectedNode& node, std::weak_ptr<SessionWire> wire);
  bool remove(uint64_t stream, NodeId& node);

  std::mutex order_mutex_;  // of changes, and of what is said of them
  mutable std::mutex mutex_;
  std::map<NodeId, Entry> entries_;
};

}  // namespace fathom::collector
