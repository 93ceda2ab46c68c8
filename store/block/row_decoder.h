// decode_rows(): whole spans again, from all the columns of a block.
#pragma once

#include <cstdint>

#include "store/block/block_cache.h"

namespace fathom::store::block {

// Rows [first_row, first_row + row_count) of the block that `cache` is visiting. Columns that none of them needs are
// not read.
Result<StoredRows> decode_rows(BlockCache& cache, uint32_t first_row, uint32_t row_count);

}  // namespace fathom::store::block
