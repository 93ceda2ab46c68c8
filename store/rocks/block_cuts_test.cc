#include "store/rocks/block_cuts.h"

#include <gtest/gtest.h>
#include <rocksdb/options.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

#include "base/testing/temp_directory.h"

namespace fathom::store {
namespace {

constexpr BlockCutOptions kCuts{1, 16'000};

class BlockCuts : public ::testing::Test {
 protected:
  BlockCuts() {
    rocksdb::BlockBasedTableOptions table;
    table.flush_block_policy_factory = make_block_cuts(kCuts);
    options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    options_.compression = rocksdb::kNoCompression;
  }

  using Rows = std::vector<std::pair<std::string, size_t>>;  // keys, ascending, and their values' sizes

  void write(const Rows& rows) {
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    ASSERT_TRUE(writer.Open(path()).ok());
    for (const auto& [key, size] : rows) ASSERT_TRUE(writer.Put(key, std::string(size, 'x')).ok());
    ASSERT_TRUE(writer.Finish().ok());
  }

  // Bytes of blocks that reading the value takes.
  uint64_t bytes_read(const std::string& key) {
    rocksdb::SstFileReader reader(options_);
    EXPECT_TRUE(reader.Open(path()).ok());
    std::unique_ptr<rocksdb::Iterator> rows(reader.NewIterator({}));
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->Reset();
    rows->Seek(key);
    EXPECT_TRUE(rows->Valid() && rows->key() == key);
    return rocksdb::get_perf_context()->block_read_byte;
  }

  uint64_t data_blocks() {
    rocksdb::SstFileReader reader(options_);
    EXPECT_TRUE(reader.Open(path()).ok());
    return reader.GetTableProperties()->num_data_blocks;
  }

 private:
  std::string path() const { return directory_.path() + "/a.sst"; }

  TempDirectory directory_;
  rocksdb::Options options_;
};

TEST_F(BlockCuts, ABigValueLiesAlone) {
  write({{"a1", 100}, {"a2", 300'000}, {"a3", 200}, {"a4", 300}, {"a5", 16'000}, {"a6", 400}});
  EXPECT_EQ(data_blocks(), 5u);
  for (const char* small : {"a1", "a3", "a4", "a6"}) EXPECT_LT(bytes_read(small), 2000u) << small;
  EXPECT_GT(bytes_read("a2"), 300'000u);
  EXPECT_LT(bytes_read("a5"), 17'000u);
}

TEST_F(BlockCuts, KeysOfOnePrefixShareBlocksUpToTheirSize) {
  write({{"a1", 9000}, {"a2", 9000}, {"a3", 9000}, {"a4", 9000}, {"a5", 9000}, {"a6", 9000}});
  EXPECT_EQ(data_blocks(), 2u);
}

TEST_F(BlockCuts, KeysOfAnotherPrefixBeginABlock) {
  write({{"a1", 10}, {"a2", 2000}, {"b1", 10}, {"b2", 10}, {"c", 10}});
  EXPECT_EQ(data_blocks(), 3u);
  EXPECT_LT(bytes_read("b2"), 1000u);
}

}  // namespace
}  // namespace fathom::store
