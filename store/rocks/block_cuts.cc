#include "store/rocks/block_cuts.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <rocksdb/flush_block_policy.h>
#include <rocksdb/slice.h>

namespace fathom::store {

namespace {

class BlockCuts : public rocksdb::FlushBlockPolicy {
 public:
  explicit BlockCuts(const BlockCutOptions& options) : options_(options) {}

  // Asked before each entry: whether the block ends before it.
  bool Update(const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    std::string_view prefix(key.data(), std::min(key.size(), options_.prefix_bytes));
    bool full = bytes_ >= 2 * options_.lone_bytes || had_lone_ || value.size() >= options_.lone_bytes;
    bool cut = bytes_ > 0 && (full || prefix != prefix_);
    prefix_ = prefix;
    bytes_ = (cut ? 0 : bytes_) + key.size() + value.size();
    had_lone_ = value.size() >= options_.lone_bytes;
    return cut;
  }

 private:
  const BlockCutOptions options_;
  std::string prefix_;
  size_t bytes_ = 0;  // of the block that is open
  bool had_lone_ = false;
};

class BlockCutsFactory : public rocksdb::FlushBlockPolicyFactory {
 public:
  explicit BlockCutsFactory(const BlockCutOptions& options) : options_(options) {}
  const char* Name() const override { return "fathom.BlockCuts"; }
  rocksdb::FlushBlockPolicy* NewFlushBlockPolicy(const rocksdb::BlockBasedTableOptions&,
                                                 const rocksdb::BlockBuilder&) const override {
    return new BlockCuts(options_);
  }

 private:
  const BlockCutOptions options_;
};

}  // namespace

std::shared_ptr<rocksdb::FlushBlockPolicyFactory> make_block_cuts(const BlockCutOptions& options) {
  return std::make_shared<BlockCutsFactory>(options);
}

}  // namespace fathom::store
