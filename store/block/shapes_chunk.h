// Shapes: which attribute keys each row has, in which order, and where in the columns their values are.
//
// Purpose: a shape is an ordered list of keys; rows of one operation mostly share one. Columns hold values only, one
// after another, so shapes are what says whose they are. A key may occur twice in a shape. Ownership: names of keys
// without a column of their own are owned here. Thread safety: plain values. Errors: hostile input makes decode false.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/block/block_rows.h"
#include "store/block/packing.h"
#include "store/block/segment_reader.h"

namespace fathom::store::block {

// `numbers`: per key of the block, the number of its own column, or kNone.
std::string encode_shapes(const BlockRows& rows, const KeyRegistry& keys, const std::vector<uint32_t>& numbers,
                          Packer& packer);

struct DecodedShapes {
  struct Key {
    uint32_t number = kNone;  // of its own column; kNone: among the rest
    std::string name;         // of the rest
  };
  // Which entries of a column one shape has: the keys that lie in that column, in order.
  using ColumnKeys = std::vector<std::vector<uint32_t>>;

  std::vector<Key> keys;
  std::vector<std::vector<uint32_t>> shapes;  // indexes into `keys`
  std::vector<uint32_t> row_shape;

  // Per shape, its keys in the column with this number; kNone: the rest.
  ColumnKeys in_column(uint32_t number) const;
  uint32_t rest_key(std::string_view name) const;  // kNone: no such key among the rest

  // Calls `each(row, entry, key)` for every entry of that column; false when there are not exactly `entries`.
  template <typename Each>
  bool walk(const ColumnKeys& column, uint32_t entries, Each each) const {
    uint64_t entry = 0;
    for (uint32_t row = 0; row < row_shape.size(); ++row) {
      const std::vector<uint32_t>& shape = column[row_shape[row]];
      if (entry + shape.size() > entries) return false;
      for (uint32_t key : shape) each(row, static_cast<uint32_t>(entry++), key);
    }
    return entry == entries;
  }
};

bool decode_shapes(const ChunkBody& body, const BlockZone& zone, DecodedShapes& out);

}  // namespace fathom::store::block
