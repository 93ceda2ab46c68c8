// A Bloom filter in cache lines: each hash sets and tests seven bits of one line of 512.
//
// Purpose: "no row of this block has key=value", with about 1 % of false alarms at ten bits per pair and never a miss.
// Source of the idea: Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters" (2009). Thread safety:
// a plain value. Errors: bytes of any size are a filter; nothing is in an empty one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::store::block {

// Distinct 64-bit hashes, so that the filter is sized by what is in it.
class HashSet {
 public:
  void insert(uint64_t hash);
  void clear();  // keeps the memory
  size_t size() const { return size_; }
  template <typename Each>
  void for_each(Each each) const {
    for (uint64_t hash : slots_) {
      if (hash != 0) each(hash);
    }
  }

 private:
  void grow();
  std::vector<uint64_t> slots_;  // 0: free; a hash of 0 is kept as 1
  size_t size_ = 0;
};

inline constexpr size_t kBloomLineBytes = 64;

// Appends whole lines, none when there are no hashes; returns their number.
uint32_t append_bloom(std::string& out, const HashSet& hashes, uint32_t bits_per_hash);
bool bloom_may_contain(std::string_view filter, uint64_t hash);

}  // namespace fathom::store::block
