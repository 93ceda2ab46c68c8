// Where RocksDB cuts its blocks of a segment's chunks.
//
// Purpose: what is read is a whole block of RocksDB's, so a small chunk must not lie in one with a big neighbour: a
// segment's filter is a quarter of a megabyte, and beside it are the resources that every trace of the segment needs. A
// value of the block size or more gets a block of its own; others share blocks of about that size. Thread safety: as
// RocksDB's factories. Errors: none.
#pragma once

#include <memory>

namespace rocksdb {
class FlushBlockPolicyFactory;
}

namespace fathom::store {

std::shared_ptr<rocksdb::FlushBlockPolicyFactory> make_block_cuts();

}  // namespace fathom::store
