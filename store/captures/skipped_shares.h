// SkippedShares: the stored skipped captures by node, and the order in which they are dropped.
//
// Purpose: the reports of a node without limits must not displace other nodes' reports. Thread safety: none; the
// keeper's lock protects it. Memory: at most about 150 bytes per skipped capture. Numbers: skipped_number() of the ids;
// later ones are greater.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "store/capture.h"

namespace fathom::store {

class SkippedShares {
 public:
  void add(const NodeId& node, uint64_t number);
  void remove(uint64_t number);

  uint64_t size() const { return nodes_.size(); }
  uint64_t last_number() const { return last_number_; }  // the greatest number ever added

  // At most `count` numbers, ascending.
  std::vector<uint64_t> oldest(uint64_t count) const;
  // The result of `count` steps, each of which drops the oldest one of the node with the most (of equal nodes, the one
  // with the greater id). Ascending.
  std::vector<uint64_t> oldest_of_largest(uint64_t count) const;

 private:
  std::map<NodeId, uint64_t> counts_to_take(uint64_t count) const;

  std::map<uint64_t, NodeId> nodes_;   // by number
  std::map<NodeId, uint64_t> counts_;  // never 0
  uint64_t last_number_ = 0;
};

}  // namespace fathom::store
