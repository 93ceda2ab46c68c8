// Ingestion beside what RocksDB 7.8 does at the same time: flushes, compactions and deletions of files.
#include <random>

#include <gtest/gtest.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/sst_file_writer.h>

#include "base/testing/temp_directory.h"
#include "store/rocks/database.h"
#include "store/rocks/keys.h"
#include "store/testing/rocks_rig.h"
#include "store/testing/span_builder.h"

namespace fathom::store {
namespace {

using testing::eventually;
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
  std::string put(Family family, const std::string& key, const std::string& value) {
    return database_->db().Put({}, database_->family(family), key, value).ToString();
  }
  std::string get(Family family, const std::string& key) {
    std::string value;
    rocksdb::Status status = database_->db().Get({}, database_->family(family), key, &value);
    return status.ok() ? value : status.ToString();
  }

  TempDirectory directory_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<rocksdb::ManagedSnapshot> snapshot_;  // as the store's view has one
  int files_ = 0;
};

// A file that compaction does not merge with much smaller ones.
Rows large_rows() {
  std::minstd_rand random(1);
  Rows rows;
  for (uint64_t i = 1; i <= 20'000; ++i) {
    std::string value(50, ' ');
    for (char& byte : value) byte = static_cast<char>(random());
    rows.emplace_back(trace_key(i), value);
  }
  return rows;
}

// The second row is newer than the ingested files, and the first one is older. If both were flushed into one file, its
// place among the others would be undefined, and RocksDB would stop with a corruption.
TEST_F(IngestionTest, RowsInMemoryFromBeforeAnIngestionDoNotStopALaterFlush) {
  ASSERT_EQ(put(Family::kTrace, trace_key(900'001), "older"), "OK");
  ASSERT_EQ(ingest(Family::kTrace, large_rows()), "OK");
  for (uint64_t i = 0; i < 5; ++i) ASSERT_EQ(ingest(Family::kTrace, {{trace_key(100'000 + i), "row"}}), "OK");
  ASSERT_TRUE(eventually([&] { return database_->unmerged_files(Family::kTrace) <= 2; }));
  ASSERT_EQ(put(Family::kTrace, trace_key(900'002), "newer"), "OK");
  EXPECT_EQ(database_->flush({Family::kTrace}).ToString(), "OK");
  EXPECT_EQ(get(Family::kTrace, trace_key(900'001)), "older");
  EXPECT_EQ(get(Family::kTrace, trace_key(900'002)), "newer");
}

// Sealing waits while this number is large.
TEST_F(IngestionTest, UnmergedFilesAreCounted) {
  EXPECT_EQ(database_->unmerged_files(Family::kTrace), 0u);
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_EQ(ingest(Family::kTrace, {{trace_key(i), "row"}}), "OK");
  EXPECT_EQ(database_->unmerged_files(Family::kTrace), 3u);
}

}  // namespace
}  // namespace fathom::store
