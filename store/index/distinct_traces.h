// DistinctTraces: the trace ids of the entries of one slow list, to find repeated ones.
//
// Purpose: a set for at most 64 ids that is built and thrown away for each list, so it lives on the stack and costs one
// memset. Ids may be chosen by others: with ids that collide on purpose, a look-up is a walk over 64 entries, no worse.
// Thread safety: none. Ownership: it keeps indexes into a vector that the caller owns.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "store/index/slow_list.h"

namespace fathom::store {

class DistinctTraces {
 public:
  explicit DistinctTraces(const std::vector<SlowEntry>& entries) : entries_(entries) {}

  // Whether `id` is new; then the entry that the caller appends next is remembered as holding it.
  bool insert(const TraceId& id) {
    size_t slot = IdHash()(id) % slots_.size();
    for (; slots_[slot] != 0; slot = (slot + 1) % slots_.size()) {
      if (entries_[slots_[slot] - 1].trace_id == id) return false;
    }
    if (entries_.size() < SlowList::kCapacity) slots_[slot] = static_cast<uint8_t>(entries_.size() + 1);
    return true;
  }

 private:
  const std::vector<SlowEntry>& entries_;
  std::array<uint8_t, 4 * SlowList::kCapacity> slots_{};  // index + 1; 0: free
};

}  // namespace fathom::store
