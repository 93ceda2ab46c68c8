#include "collector/agents/node_streams.h"

#include <algorithm>
#include <utility>

namespace fathom::collector {

void NodeStreams::attach(const ConnectedNode& node, std::weak_ptr<SessionWire> wire, NodeAnswers* answers) {
  std::lock_guard order(order_mutex_);
  Place place = put(node, std::move(wire));
  if (place == Place::kOfNewer || answers == nullptr) return;
  if (place == Place::kOfOlder) answers->node_gone(node.node_id);
  answers->node_connected(node.node_id);
}

void NodeStreams::detach(uint64_t stream, NodeAnswers* answers) {
  std::lock_guard order(order_mutex_);
  NodeId node;
  if (remove(stream, node) && answers != nullptr) answers->node_gone(node);
}

NodeStreams::Place NodeStreams::put(const ConnectedNode& node, std::weak_ptr<SessionWire> wire) {
  std::lock_guard lock(mutex_);
  auto [at, is_new] = entries_.try_emplace(node.node_id);
  if (!is_new && at->second.node.stream > node.stream) return Place::kOfNewer;
  at->second = {node, std::move(wire)};
  return is_new ? Place::kNew : Place::kOfOlder;
}

bool NodeStreams::remove(uint64_t stream, NodeId& node) {
  std::lock_guard lock(mutex_);
  auto found = std::find_if(entries_.begin(), entries_.end(),
                            [stream](const auto& item) { return item.second.node.stream == stream; });
  if (found == entries_.end()) return false;
  node = found->first;
  entries_.erase(found);
  return true;
}

std::vector<ConnectedNode> NodeStreams::connected() const {
  std::vector<ConnectedNode> nodes;
  std::lock_guard lock(mutex_);
  for (const auto& [id, entry] : entries_) nodes.push_back(entry.node);
  return nodes;
}

bool NodeStreams::send(const NodeId& node, std::string message) {
  std::shared_ptr<SessionWire> wire;
  {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(node);
    if (found != entries_.end()) wire = found->second.wire.lock();
  }
  return wire != nullptr && wire->send(std::move(message));
}

}  // namespace fathom::collector
