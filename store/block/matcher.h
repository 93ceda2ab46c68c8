// Conditions on one block: which rows have key=value, and which values a key has.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/block/block_cache.h"

namespace fathom::store::block {

// Thread safety: one thread. Errors: as BlockCache's.
class Matcher {
 public:
  explicit Matcher(BlockCache& cache) : cache_(cache) {}

  // Of the block that the cache is visiting; see SegmentReader.
  Result<std::vector<uint32_t>> match(std::string_view key, std::string_view text);
  Result<std::vector<ValueRows>> value_counts(std::string_view key);

 private:
  using Key = SegmentDirectory::Parts::Key;
  struct Column;  // a column of span attributes, opened

  bool own_column(const Key* key) const;
  Result<bool> open_column(std::string_view key, Column& out);
  Result<std::vector<uint32_t>> match_spans(std::string_view key, std::string_view text);
  Result<std::vector<uint32_t>> match_resources(std::string_view key, std::string_view text);
  Result<const std::vector<uint8_t>*> matching_records(std::string_view key, std::string_view text);
  template <typename Each>
  Result<> each_record_value(std::string_view key, Each each);
  const Key* find_key(std::string_view key) const;
  bool possible(std::string_view key, bool Key::*where) const;

  BlockCache& cache_;
  // Per condition, which shared records meet it: the same for all blocks of the segment.
  std::map<std::pair<std::string, std::string>, std::vector<uint8_t>> records_;
};

}  // namespace fathom::store::block
