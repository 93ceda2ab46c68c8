// Columns: values with a dictionary in order of first occurrence, and the codes that say which row has which value.
//
// Purpose: one codec for attributes, names, messages and events. Codes have four forms (docs/formats/block.md):
// identity (values nearly all distinct: no dictionary at all), constant, integers, and runs (a value is mostly new or
// the one before it, as a per-trace id is). `predicted` integers are written as "the same as the last row in this
// context" where they are. Thread safety: one thread per writer; readers are functions. Errors: hostile input makes
// reads false.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/block/values.h"

namespace fathom::store::block {

// Distinct values of one column and their codes; reused from column to column.
class Dictionary {
 public:
  void build(std::span<const ValueView> entries);
  const std::vector<ValueView>& values() const { return values_; }
  const std::vector<uint32_t>& codes() const { return codes_; }

 private:
  uint32_t code_of(const ValueView& value, uint64_t hash);

  std::vector<uint32_t> slots_;  // code + 1; 0: free
  std::vector<uint64_t> hashes_;
  std::vector<ValueView> values_;
  std::vector<uint32_t> codes_;
};

// Writes the entries that `dictionary` was built from.
void write_column(std::string& out, Packer& packer, std::span<const ValueView> entries, const Dictionary& dictionary);

// A column whose codes are read when somebody needs them.
class ColumnReader {
 public:
  // Reads the values, not yet the codes.
  bool read(ChunkReader& in);
  uint32_t entries() const { return entries_; }
  const ValueTable& values() const { return values_; }
  ValueTable take_values() { return std::move(values_); }
  // One code per entry, each less than values().size(). May be called once.
  bool read_codes(ChunkReader& in, std::vector<uint32_t>& out);

 private:
  bool read_runs(ChunkReader& in, std::vector<uint32_t>& out);

  uint32_t entries_ = 0;
  ValueTable values_;
};

// `values[i]` is expected to be what it was when `contexts[i]` (each less than `context_count`) was last seen.
void write_predicted(std::string& out, Packer& packer, std::span<const uint32_t> values,
                     std::span<const uint32_t> contexts, uint32_t context_count);
bool read_predicted(ChunkReader& in, std::span<const uint32_t> contexts, uint32_t context_count,
                    std::vector<uint32_t>& out);

}  // namespace fathom::store::block
