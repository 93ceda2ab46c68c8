// How RocksDB adds up the index's values: every seal writes operands, compaction and reads fold them into one.
//
// Purpose: sealing never reads before it writes. Thread safety: both are stateless and shared. Ownership: the
// database's options share them. Errors: an operand that does not decode is counted (fathom_lost_index_values_total)
// and skipped, so that its neighbours stay readable. A slow list that lost an operand gets the highest floor there is:
// it proves nothing any more, and queries read the blocks. A lone operand passes through as it is: whoever reads a
// value must treat it as hostile too.
#pragma once

#include <memory>

namespace rocksdb {
class MergeOperator;
}

namespace fathom::store {

std::shared_ptr<rocksdb::MergeOperator> make_slow_list_merge();
std::shared_ptr<rocksdb::MergeOperator> make_latency_cell_merge();

}  // namespace fathom::store
