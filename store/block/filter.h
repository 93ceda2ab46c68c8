// The chunk that holds a segment's filter (docs/formats/block.md).
//
// Thread safety: pure functions. Errors: hostile input gives null or kCorrupt.
#pragma once

#include <string>

#include "store/block/bloom.h"
#include "store/block/packing.h"
#include "store/block/segment_reader.h"

namespace fathom::store::block {

std::string encode_filter(const HashSet& pairs, Packer& packer);
// The body of the chunk; null when it is damaged.
SegmentFilterPtr parse_filter(ByteReader& in);

}  // namespace fathom::store::block
