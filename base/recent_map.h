// RecentMap: a map that keeps each entry for a limited time, and a limited number of entries. Beyond that number it
// drops the oldest.
//
// Thread safety: none. Units: nanoseconds of a clock that never goes back; calls with slightly disordered times keep a
// key a little longer. Bounds: `most` keys. An erased key counts until its time is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

namespace fathom {

template <typename Key, typename Value>
class RecentMap {
 public:
  RecentMap(size_t most, uint64_t keep_nano) : most_(most), keep_nano_(keep_nano) {}

  // False: the key is present. Its entry, including its age, stays unchanged.
  bool add(const Key& key, Value value, uint64_t now_nano) {
    forget(now_nano);
    if (!entries_.try_emplace(key, Entry{last_number_ + 1, std::move(value)}).second) return false;
    by_age_.push_back({now_nano, ++last_number_, key});
    forget(now_nano);
    return true;
  }
  // Null: the key is absent. The pointer is valid until the next call; the caller may change the value.
  Value* find(const Key& key, uint64_t now_nano) {
    forget(now_nano);
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second.value;
  }
  // False: the key is absent.
  bool erase(const Key& key, uint64_t now_nano) {
    forget(now_nano);
    return entries_.erase(key) > 0;
  }

 private:
  struct Entry {
    uint64_t number = 0;
    Value value;
  };
  struct Added {
    uint64_t nano = 0;
    uint64_t number = 0;
    Key key;
  };

  bool is_over(const Added& added, uint64_t now_nano) const {
    return now_nano > added.nano && now_nano - added.nano >= keep_nano_;
  }
  void forget(uint64_t now_nano) {
    while (!by_age_.empty() && (by_age_.size() > most_ || is_over(by_age_.front(), now_nano))) {
      const auto found = entries_.find(by_age_.front().key);
      // An erased key may have been added again since; that entry has another number.
      if (found != entries_.end() && found->second.number == by_age_.front().number) entries_.erase(found);
      by_age_.pop_front();
    }
  }

  const size_t most_;
  const uint64_t keep_nano_;
  std::map<Key, Entry> entries_;  // those that find() returns
  std::deque<Added> by_age_;      // includes erased keys
  uint64_t last_number_ = 0;
};

}  // namespace fathom
