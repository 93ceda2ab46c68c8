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
  Result<std::vector<uint32_t>> match_if(std::string_view key, const ValueTest& test);
  Result<std::vector<ValueRows>> value_counts(std::string_view key);

 private:
  using Key = SegmentDirectory::Parts::Key;
  struct Column;  // a column of span attributes, opened
  class TextCounts;
  // A text to be equal to, or the name of a test.
  struct Question {
    std::string text;
    bool is_test = false;
    auto operator<=>(const Question&) const = default;
  };

  bool own_column(const Key* key) const;
  Result<bool> open_column(std::string_view key, Column& out);
  // What is meant of a column's values, as `find(table)` says; and the same of records, as `passes(value)` does.
  template <typename Find, typename Passes>
  Result<std::vector<uint32_t>> match_either(std::string_view key, const Question& question, Find find, Passes passes);
  template <typename Find>
  Result<std::vector<uint32_t>> match_spans(std::string_view key, Find find);
  template <typename Passes>
  Result<std::vector<uint32_t>> match_resources(std::string_view key, const Question& question, Passes passes);
  template <typename Passes>
  Result<const std::vector<uint8_t>*> matching_records(std::string_view key, const Question& question, Passes passes);
  template <typename Each>
  Result<> each_record_value(std::string_view key, Each each);
  template <typename Each>
  Result<> each_span_value(std::string_view key, Each each);
  Result<> count_record_values(std::string_view key, TextCounts& texts);
  const Key* find_key(std::string_view key) const;
  bool possible(std::string_view key, bool Key::*where) const;

  BlockCache& cache_;
  // Per key and question, which shared records answer it: the same for all blocks of the segment.
  std::map<std::pair<std::string, Question>, std::vector<uint8_t>> records_;
};

}  // namespace fathom::store::block
