// SkippedShares: which skipped captures are stored, of which node each is, and which are dropped first.
//
// Purpose: a node that reports without end must not displace the reports of the others. Thread safety: none; by the
// keeper's lock. Memory: at most about 150 bytes for each. Numbers: skipped_number() of their ids; later ones are
// greater.
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
  uint64_t last_number() const { return last_number_; }  // the greatest that was added

  // At most `count`, ascending.
  std::vector<uint64_t> oldest(uint64_t count) const;
  // Those that go one after another, `count` times the oldest of the node that has most; if several nodes have as many,
  // of the one with the greater id. Ascending.
  std::vector<uint64_t> oldest_of_largest(uint64_t count) const;

 private:
  std::map<NodeId, uint64_t> counts_to_take(uint64_t count) const;

  std::map<uint64_t, NodeId> nodes_;   // by number
  std::map<NodeId, uint64_t> counts_;  // none is 0
  uint64_t last_number_ = 0;
};

}  // namespace fathom::store
