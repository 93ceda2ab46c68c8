// The chunk that holds the filters of a segment's blocks (docs/formats/block.md).
//
// Purpose: one Bloom filter per block over its attributes, and one over the resources of the segment, which occur in
// most of its blocks. Thread safety: a writer belongs to one thread; the rest are pure functions. Errors: hostile input
// gives null or kCorrupt.
#pragma once

#include <string>
#include <vector>

#include "store/block/bloom.h"
#include "store/block/packing.h"
#include "store/block/segment_reader.h"

namespace fathom::store::block {

class FilterWriter {
 public:
  // Of the block, or in the end of the resources, that end_part() ends.
  void insert(uint64_t pair_hash) { pairs_.insert(pair_hash); }
  void end_part();
  std::string seal(Packer& packer) const;

 private:
  HashSet pairs_;
  std::vector<uint32_t> lines_;  // per part
  std::string bits_;
};

// Of versions 1 and 2: one filter for everything in the segment. Null when it is damaged.
SegmentFilterPtr parse_whole_filter(ByteReader& in);

}  // namespace fathom::store::block
