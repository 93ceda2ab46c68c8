#include "snapshot/decode/call_tree.h"

#include <algorithm>
#include <utility>

namespace fathom::snapshot {

namespace {
constexpr int kFirstBits = 6;
}  // namespace

void CallStats::add(const CallStats& other) {
  calls += other.calls;
  instructions += other.instructions;
  ticks += other.ticks;
  pauses += other.pauses;
  pause_ticks += other.pause_ticks;
  complete += other.complete;
  complete_ticks += other.complete_ticks;
  min_ticks = std::min(min_ticks, other.min_ticks);
  max_ticks = std::max(max_ticks, other.max_ticks);
}

void CallStats::completed(uint64_t ticks_taken) {
  ++complete;
  complete_ticks += ticks_taken;
  min_ticks = std::min(min_ticks, ticks_taken);
  max_ticks = std::max(max_ticks, ticks_taken);
}

CallTree::CallTree() : nodes_(1), slots_(size_t{1} << kFirstBits), shift_(64 - kFirstBits) {}

uint32_t CallTree::add(CallRole role, GapReason reason) {
  CallNode node;
  node.parent = kNone;
  node.role = role;
  node.reason = reason;
  nodes_.push_back(node);
  return static_cast<uint32_t>(nodes_.size() - 1);
}

CallTree::Slot& CallTree::probe(uint64_t key) {
  size_t at = slot_of(key);
  while (slots_[at].node != kNone && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  return slots_[at];
}

uint32_t CallTree::find_or_add(uint32_t parent, const CallFunction* function) {
  if (nodes_[parent].depth == kMostDepth) parent = nodes_[parent].parent;
  if (Slot& found = probe(key_of(parent, function)); found.node != kNone) return found.node;
  if (++used_ * 2 > slots_.size()) enlarge();
  CallNode node;
  node.function = function;
  node.parent = parent;
  node.depth = static_cast<uint16_t>(nodes_[parent].depth + 1);
  nodes_.push_back(node);
  const auto number = static_cast<uint32_t>(nodes_.size() - 1);
  probe(key_of(parent, function)) = {key_of(parent, function), number};
  return number;
}

void CallTree::enlarge() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  --shift_;
  for (const Slot& slot : old) {
    if (slot.node != kNone) probe(slot.key) = slot;
  }
}

uint32_t CallTree::discover(uint32_t floor, const CallFunction* function) {
  const uint32_t below = add(CallRole::kFloor, nodes_[floor].reason);
  CallNode& node = nodes_[floor];
  node.role = CallRole::kFunction;
  node.reason = GapReason::kNone;
  node.function = function;
  node.parent = below;
  node.depth = 1;
  if (++used_ * 2 > slots_.size()) enlarge();
  probe(key_of(below, function)) = {key_of(below, function), floor};
  return below;
}

namespace {

// Children of each node, as lists through numbers.
struct Families {
  std::vector<uint32_t> first, next;

  explicit Families(std::span<const CallNode> nodes)
      : first(nodes.size(), CallTree::kNone), next(nodes.size(), CallTree::kNone) {
    for (size_t i = nodes.size(); i-- > 1;) {
      if (nodes[i].parent == CallTree::kNone) continue;
      next[i] = first[nodes[i].parent];
      first[nodes[i].parent] = static_cast<uint32_t>(i);
    }
  }
};

}  // namespace

std::vector<uint32_t> CallTree::compact(std::span<const uint32_t> kept) {
  const Families families(nodes_);
  CallTree made;
  std::vector<uint32_t> moved(nodes_.size(), kNone);
  // Gaps' nodes first: what lies above a dead floor goes there.
  std::vector<uint32_t> gap_nodes(static_cast<size_t>(GapReason::kCount), kRoot);
  for (uint32_t child = families.first[kRoot]; child != kNone; child = families.next[child]) {
    const CallFunction* function = nodes_[child].function;
    if (function->gap != GapReason::kNone) gap_nodes[static_cast<size_t>(function->gap)] = made.child(kRoot, function);
  }
  std::vector<uint32_t> open;
  auto settle = [&](uint32_t node, uint32_t to) {
    moved[node] = to;
    made[to].add(nodes_[node]);
    open.push_back(node);
  };
  settle(kRoot, kRoot);
  for (uint32_t i = 1; i < nodes_.size(); ++i) {
    if (nodes_[i].parent != kNone) continue;
    const bool keep = std::ranges::find(kept, i) != kept.end();
    settle(i, keep ? made.add(nodes_[i].role, nodes_[i].reason) : gap_nodes[static_cast<size_t>(nodes_[i].reason)]);
  }
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    for (uint32_t child = families.first[node]; child != kNone; child = families.next[child]) {
      settle(child, made.child(moved[node], nodes_[child].function));
    }
  }
  *this = std::move(made);
  return moved;
}

}  // namespace fathom::snapshot
