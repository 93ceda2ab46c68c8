#include "store/rocks/block_cuts.h"

#include <gtest/gtest.h>
#include <rocksdb/options.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

#include "store/testing/temp_directory.h"

namespace fathom::store {
namespace {

constexpr size_t kBlockBytes = 16 << 10;

class BlockCuts : public testing::Test {
 protected:
  BlockCuts() {
    rocksdb::BlockBasedTableOptions table;
    table.block_size = kBlockBytes;
    table.flush_block_policy_factory = make_block_cuts();
    options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    options_.compression = rocksdb::kNoCompression;
  }

  void write(const std::vector<size_t>& sizes) {
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    ASSERT_TRUE(writer.Open(path()).ok());
    for (size_t i = 0; i < sizes.size(); ++i) ASSERT_TRUE(writer.Put(key(i), std::string(sizes[i], 'x')).ok());
    ASSERT_TRUE(writer.Finish().ok());
  }

  // Bytes of blocks that reading the value takes.
  uint64_t bytes_read(size_t number) {
    rocksdb::SstFileReader reader(options_);
    EXPECT_TRUE(reader.Open(path()).ok());
    std::unique_ptr<rocksdb::Iterator> rows(reader.NewIterator({}));
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->Reset();
    rows->Seek(key(number));
    EXPECT_TRUE(rows->Valid() && rows->key() == key(number));
    return rocksdb::get_perf_context()->block_read_byte;
  }

  uint64_t data_blocks() {
    rocksdb::SstFileReader reader(options_);
    EXPECT_TRUE(reader.Open(path()).ok());
    return reader.GetTableProperties()->num_data_blocks;
  }

 private:
  std::string path() const { return directory_.path() + "/a.sst"; }
  static std::string key(size_t number) { return {static_cast<char>('a' + number)}; }

  TempDirectory directory_;
  rocksdb::Options options_;
};

TEST_F(BlockCuts, ABigValueLiesAlone) {
  write({100, 300'000, 200, 300, kBlockBytes, 400});
  EXPECT_EQ(data_blocks(), 5u);
  for (size_t small : {0, 2, 3, 5}) EXPECT_LT(bytes_read(small), 2000u) << small;
  EXPECT_GT(bytes_read(1), 300'000u);
  EXPECT_LT(bytes_read(4), kBlockBytes + 1000);
}

TEST_F(BlockCuts, SmallValuesShareBlocks) {
  write(std::vector<size_t>(20, 4000));
  EXPECT_EQ(data_blocks(), 4u);
}

}  // namespace
}  // namespace fathom::store
