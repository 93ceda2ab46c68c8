// Ingestion beside what RocksDB 7.8 does at the same time: flushes, compactions and deletions of files.
#include <gtest/gtest.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/sst_file_writer.h>

#include "base/testing/temp_directory.h"
#include "store/rocks/database.h"
#include "store/rocks/keys.h"
#include "store/testing/span_builder.h"

namespace fathom::store {
namespace {

using testing::test_trace_id;
using Rows = std::vector<std::pair<std::string, std::string>>;

std::string trace_key(uint64_t number) {
  return keys::trace(test_trace_id(number), 1, 1);
}

class IngestionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Database>> opened =
        Database::open({.path = directory_ / "data", .cache_bytes = 8 << 20}, std::make_shared<LivePartitions>());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    database_ = std::move(*opened);
    snapshot_ = std::make_unique<rocksdb::ManagedSnapshot>(&database_->db());
  }

  rocksdb::IngestExternalFileArg file_of(Family family, const Rows& rows) {
    const std::string path = database_->ingest_path(std::to_string(++files_));
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), database_->file_options(family), database_->family(family));
    EXPECT_TRUE(writer.Open(path).ok());
    for (const auto& [key, value] : rows) EXPECT_TRUE(writer.Put(key, value).ok());
    EXPECT_TRUE(writer.Finish().ok());
    rocksdb::IngestExternalFileArg arg;
    arg.column_family = database_->family(family);
    arg.external_files = {path};
    arg.options.move_files = true;
    arg.options.write_global_seqno = false;
    return arg;
  }
  std::string ingest(Family family, const Rows& rows) { return database_->ingest({file_of(family, rows)}).ToString(); }

  TempDirectory directory_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<rocksdb::ManagedSnapshot> snapshot_;  // as the store's view has one
  int files_ = 0;
};

// Sealing waits while this number is large.
TEST_F(IngestionTest, UnmergedFilesAreCounted) {
  EXPECT_EQ(database_->unmerged_files(Family::kTrace), 0u);
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_EQ(ingest(Family::kTrace, {{trace_key(i), "row"}}), "OK");
  EXPECT_EQ(database_->unmerged_files(Family::kTrace), 3u);
}

}  // namespace
}  // namespace fathom::store
