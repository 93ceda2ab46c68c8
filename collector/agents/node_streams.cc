#include "collector/agents/node_streams.h"

#include <algorithm>
#include <utility>

namespace fathom::collector {

uint64_t NodeStreams::attach(ConnectedNode node, std::weak_ptr<SessionWire> wire, NodeAnswers* answers) {
  std::lock_guard order(order_mutex_);
  const NodeId id = node.node_id;
  const uint64_t stream = ++last_stream_;
  bool takes_anothers_place = put(std::move(node), std::move(wire), stream);
  if (answers == nullptr) return stream;
  if (takes_anothers_place) answers->node_gone(id);
  answers->node_connected(id);
  return stream;
}

void NodeStreams::detach(uint64_t stream, NodeAnswers* answers) {
  std::lock_guard order(order_mutex_);
  NodeId node;
  if (remove(stream, node) && answers != nullptr) answers->node_gone(node);
}

bool NodeStreams::put(ConnectedNode node, std::weak_ptr<SessionWire> wire, uint64_t stream) {
  std::lock_guard lock(mutex_);
  const NodeId id = node.node_id;
  return !entries_.insert_or_assign(id, Entry{std::move(node), std::move(wire), stream}).second;
}

bool NodeStreams::remove(uint64_t stream, NodeId& node) {
  std::lock_guard lock(mutex_);
  auto found = std::find_if(entries_.begin(), entries_.end(),
                            [stream](const auto& item) { return item.second.stream == stream; });
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
