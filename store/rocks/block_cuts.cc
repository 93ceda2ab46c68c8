#include "store/rocks/block_cuts.h"

#include <rocksdb/flush_block_policy.h>
#include <rocksdb/slice.h>

namespace fathom::store {

namespace {

class BlockCuts : public rocksdb::FlushBlockPolicy {
 public:
  explicit BlockCuts(size_t block_bytes) : block_bytes_(block_bytes) {}

  // Asked before each entry: whether the block ends before it. The policy that RocksDB has ends a block by what is in
  // it only.
  bool Update(const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    bool cut = bytes_ > 0 && (bytes_ >= block_bytes_ || value.size() >= block_bytes_);
    bytes_ = (cut ? 0 : bytes_) + key.size() + value.size();
    return cut;
  }

 private:
  const size_t block_bytes_;
  size_t bytes_ = 0;  // of the block that is open
};

class BlockCutsFactory : public rocksdb::FlushBlockPolicyFactory {
 public:
  const char* Name() const override { return "fathom.BlockCuts"; }
  rocksdb::FlushBlockPolicy* NewFlushBlockPolicy(const rocksdb::BlockBasedTableOptions& table,
                                                 const rocksdb::BlockBuilder&) const override {
    return new BlockCuts(table.block_size);
  }
};

}  // namespace

std::shared_ptr<rocksdb::FlushBlockPolicyFactory> make_block_cuts() {
  return std::make_shared<BlockCutsFactory>();
}

}  // namespace fathom::store
