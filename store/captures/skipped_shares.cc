#include "store/captures/skipped_shares.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace fathom::store {

void SkippedShares::add(const NodeId& node, uint64_t number) {
  if (!nodes_.emplace(number, node).second) return;
  ++counts_[node];
  last_number_ = std::max(last_number_, number);
}

void SkippedShares::remove(uint64_t number) {
  const auto found = nodes_.find(number);
  if (found == nodes_.end()) return;
  const auto count = counts_.find(found->second);
  if (--count->second == 0) counts_.erase(count);
  nodes_.erase(found);
}

std::vector<uint64_t> SkippedShares::oldest(uint64_t count) const {
  std::vector<uint64_t> numbers;
  for (auto at = nodes_.begin(); at != nodes_.end() && numbers.size() < count; ++at) numbers.push_back(at->first);
  return numbers;
}

std::map<NodeId, uint64_t> SkippedShares::counts_to_take(uint64_t count) const {
  std::priority_queue<std::pair<uint64_t, NodeId>> largest;
  for (const auto& [node, has] : counts_) largest.emplace(has, node);
  std::map<NodeId, uint64_t> counts;
  for (; count > 0 && !largest.empty(); --count) {
    const auto [has, node] = largest.top();
    largest.pop();
    ++counts[node];
    if (has > 1) largest.emplace(has - 1, node);
  }
  return counts;
}

std::vector<uint64_t> SkippedShares::oldest_of_largest(uint64_t count) const {
  std::vector<uint64_t> numbers;
  if (count == 0) return numbers;
  std::map<NodeId, uint64_t> left = counts_to_take(count);
  for (auto at = nodes_.begin(); at != nodes_.end() && !left.empty(); ++at) {
    const auto of_node = left.find(at->second);
    if (of_node == left.end()) continue;
    numbers.push_back(at->first);
    if (--of_node->second == 0) left.erase(of_node);
  }
  return numbers;
}

}  // namespace fathom::store
