// Where RocksDB cuts its blocks of a segment's chunks.
//
// Purpose: what is read is a whole block of RocksDB's, and from a disk each costs a turn. So the chunks of one block of
// rows, which are read together, lie in one of RocksDB's as far as its size allows, without those of the next; and a
// big chunk lies alone, because its neighbours are small and wanted without it. Thread safety: as RocksDB's factories.
// Errors: none.
#pragma once

#include <cstddef>
#include <memory>

namespace rocksdb {
class FlushBlockPolicyFactory;
}

namespace fathom::store {

struct BlockCutOptions {
  size_t prefix_bytes;  // keys that differ here never share a block
  size_t lone_bytes;    // a value of this size lies alone; a block ends when it has twice as many
};

std::shared_ptr<rocksdb::FlushBlockPolicyFactory> make_block_cuts(const BlockCutOptions& options);

}  // namespace fathom::store
