// RecentSet: the keys that were added recently: a RecentMap (recent_map.h) without values.
//
// Thread safety, units and bounds: as RecentMap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/recent_map.h"

namespace fathom {

template <typename Key>
class RecentSet {
 public:
  RecentSet(size_t most, uint64_t keep_nano) : keys_(most, keep_nano) {}

  // False: the key is present and keeps its age.
  bool add(const Key& key, uint64_t now_nano) { return keys_.add(key, {}, now_nano); }
  bool contains(const Key& key, uint64_t now_nano) { return keys_.find(key, now_nano) != nullptr; }
  // False: the key is absent.
  bool erase(const Key& key, uint64_t now_nano) { return keys_.erase(key, now_nano); }

 private:
  struct Nothing {};
  RecentMap<Key, Nothing> keys_;
};

}  // namespace fathom
