// Lists of typed values: how a dictionary, or a column whose values are nearly all distinct, is written and searched.
//
// Purpose: values of one type lie together; texts as lengths and one run of bytes; UUIDs and lower-case hex as the
// bytes that they spell. A ValueTable can look for a condition's text without building a single value. Ownership: a
// ValueTable owns what it unpacked and otherwise views the chunk; an Arena keeps what values handed out point into.
// Thread safety: one thread. Errors: hostile input makes read() false.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "store/block/packing.h"
#include "store/span.h"

namespace fathom::store::block {

// Strings that stay where they are.
using Arena = std::deque<std::string>;

// Of a value under a key: `seed` is the key's own hash.
inline uint64_t key_seed(std::string_view key) {
  return hash64(key, 0x66617468);
}
// Equal for values of one key with equal value_text(): what the Bloom filter holds.
uint64_t pair_hash(const ValueView& value, uint64_t seed);
inline uint64_t pair_hash(std::string_view value_text, uint64_t seed) {
  return hash64(value_text, seed);
}

void write_values(std::string& out, Packer& packer, std::span<const ValueView> values);

class ValueTable {
 public:
  bool read(ChunkReader& in, uint32_t count);
  uint32_t size() const { return count_; }
  // Indexes of the values whose value_text() is `text`, ascending.
  std::vector<uint32_t> find(std::string_view text) const;
  // Every value that `needed` marks (all when it is empty); texts point into the chunk, this table or `arena`.
  std::vector<ValueView> views(Arena& arena, std::span<const uint8_t> needed = {}) const;
  // The memory that views() takes, for callers to charge before.
  uint64_t view_bytes(std::span<const uint8_t> needed = {}) const;

 private:
  bool read_texts(ChunkReader& in, size_t texts, uint8_t form);
  uint32_t text_count() const;
  ValueType type_at(uint32_t index) const { return mixed_ ? static_cast<ValueType>(types_[index]) : type_; }
  std::vector<uint32_t> find_texts(std::string_view text) const;
  void find_mixed(std::string_view text, std::vector<uint32_t>& out) const;

  uint32_t count_ = 0;
  bool mixed_ = false;
  ValueType type_ = ValueType::kEmpty;  // of all, unless mixed
  uint8_t form_ = 0;
  std::vector<uint8_t> types_;
  std::vector<uint64_t> numbers_;
  std::vector<uint32_t> lengths_;                                          // of stored texts
  std::unique_ptr<std::string> buffer_ = std::make_unique<std::string>();  // does not move when the table does
  std::string_view bytes_;
};

}  // namespace fathom::store::block
