// Ingestion beside what RocksDB 7.8 does at the same time (docs/rocksdb.md): flushes, compactions and deletions of
// files.
#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/sst_file_writer.h>

#include "base/testing/temp_directory.h"
#include "store/rocks/database.h"
#include "store/rocks/keys.h"
#include "store/testing/damage.h"
#include "store/testing/rocks_rig.h"
#include "store/testing/rocksdb_sync_points.h"
#include "store/testing/span_builder.h"

namespace fathom::store {
namespace {

using testing::eventually;
using testing::RocksdbSyncPoints;
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
  std::vector<std::string> files_in(Family family) {
    rocksdb::ColumnFamilyMetaData family_data;
    database_->db().GetColumnFamilyMetaData(database_->family(family), &family_data);
    std::vector<std::string> names;
    for (const rocksdb::LevelMetaData& level : family_data.levels) {
      for (const rocksdb::SstFileMetaData& file : level.files) names.push_back(file.name);
    }
    return names;
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

// The disk damaged the block of the first key.
TEST_F(IngestionTest, ADamagedFileIsRejected) {
  const rocksdb::IngestExternalFileArg file = file_of(Family::kTrace, large_rows());
  testing::flip_bit(file.external_files.front(), 800);
  EXPECT_TRUE(database_->ingest({file}).IsCorruption());
  EXPECT_EQ(ingest(Family::kTrace, {{trace_key(1), "row"}}), "OK");
  EXPECT_EQ(get(Family::kTrace, trace_key(1)), "row");
}

// Without the option, RocksDB writes each file of the family again when the last snapshot from before it is released.
TEST_F(IngestionTest, FilesOfBlocksAreWrittenOnce) {
  ASSERT_EQ(ingest(Family::kBlock, {{keys::chunk(1, 1, 0, 0), "chunk"}}), "OK");
  const std::vector<std::string> files = files_in(Family::kBlock);
  ASSERT_EQ(put(Family::kStage, keys::stage(1), "batch"), "OK");
  snapshot_ = std::make_unique<rocksdb::ManagedSnapshot>(&database_->db());
  // RocksDB has one thread for compactions, so another compaction of the blocks ends before this one starts.
  ASSERT_TRUE(database_->flush({Family::kStage}).ok());
  ASSERT_TRUE(database_->compact(Family::kStage).ok());
  EXPECT_EQ(files_in(Family::kBlock), files);
}

// Sealing waits while this number is large.
TEST_F(IngestionTest, UnmergedFilesAreCounted) {
  EXPECT_EQ(database_->unmerged_files(Family::kTrace), 0u);
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_EQ(ingest(Family::kTrace, {{trace_key(i), "row"}}), "OK");
  EXPECT_EQ(database_->unmerged_files(Family::kTrace), 3u);
}

// Lets one thread of RocksDB commit the change of another one: the first change of the manifest waits for two more,
// which RocksDB then writes together. Between the commit of the last one and the installation of its version, `inside`
// runs.
class SharedCommit {
 public:
  explicit SharedCommit(const std::function<void()>& inside) {
    points_.on("VersionSet::LogAndApply:BeforeWriterWaiting", [this](void*) { ++queued_; });
    points_.on("VersionSet::LogAndApply:WriteManifest", [this](void*) {
      if (!delayed_.exchange(true)) eventually([&] { return queued_ >= 3; });
    });
    points_.on("VersionSet::LogAndApply:WakeUpAndDone", [this, inside](void* mutex) {
      if (!entered_.exchange(true)) testing::with_mutex_released(mutex, inside);
    });
    points_.enable();
  }
  bool await_queued(int changes) const {
    return eventually([&] { return queued_ >= changes; });
  }
  bool entered() const { return entered_; }

 private:
  std::atomic<int> queued_{0};
  std::atomic<bool> delayed_{false}, entered_{false};
  RocksdbSyncPoints points_;
};

TEST_F(IngestionTest, AnIngestionBetweenCommitAndInstallationOfACompactionIsStored) {
  if (!RocksdbSyncPoints::available()) GTEST_SKIP() << "this librocksdb has no sync points";
  Database& database = *database_;
  snapshot_.reset();
  ASSERT_EQ(ingest(Family::kBlock, {{keys::chunk(1, 1, 0, 0), "chunk"}}), "OK");
  ASSERT_EQ(put(Family::kStage, keys::stage(1), "batch"), "OK");
  for (uint64_t i : {1, 2}) {
    ASSERT_EQ(put(Family::kStraddle, keys::straddle(1, test_trace_id(i)), "note"), "OK");
    ASSERT_TRUE(database.flush({Family::kStraddle}).ok());
  }
  const std::string key = keys::straddle(2, test_trace_id(3));
  // RocksDB installs the version of the first family of an ingestion, but not those of the others.
  const std::vector<rocksdb::IngestExternalFileArg> files = {
      file_of(Family::kBlock, {{keys::chunk(3, 1, 0, 0), "chunk"}}), file_of(Family::kStraddle, {{key, "ingested"}})};
  rocksdb::Status ingested;
  SharedCommit commit([&] { ingested = database.ingest(files); });
  std::thread flush([&] { EXPECT_TRUE(database.db().Flush({}, database.family(Family::kStage)).ok()); });
  ASSERT_TRUE(commit.await_queued(1));
  std::thread drop(
      [&] { EXPECT_TRUE(database.delete_files(Family::kBlock, keys::partition(0), keys::partition(2)).ok()); });
  ASSERT_TRUE(commit.await_queued(2));
  std::thread compaction([&] { EXPECT_TRUE(database.compact(Family::kStraddle).ok()); });
  for (std::thread* thread : {&flush, &drop, &compaction}) thread->join();
  ASSERT_TRUE(commit.entered());
  EXPECT_EQ(ingested.ToString(), "OK");
  EXPECT_EQ(get(Family::kStraddle, key), "ingested");
  EXPECT_EQ(get(Family::kStraddle, keys::straddle(1, test_trace_id(1))), "note");
}

}  // namespace
}  // namespace fathom::store
