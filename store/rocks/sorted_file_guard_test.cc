// Whatever is damaged at the end of a sorted file, opening it fails or finds every row; the process does not end.
#include "store/rocks/sorted_file_guard.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include <rocksdb/db.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>

#include "base/testing/repetitions.h"
#include "base/testing/temp_directory.h"
#include "store/testing/damage.h"
#include "store/testing/fault_file_system.h"

namespace fathom::store::testing {
namespace {

class SortedFileGuardTest : public ::testing::Test {
 protected:
  static constexpr int kRows = 20;

  SortedFileGuardTest() {
    options_.env = env_.get();
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    EXPECT_TRUE(writer.Open(path_).ok());
    for (int row = 0; row < kRows; ++row) {
      EXPECT_TRUE(writer.Put("key" + std::to_string(100 + row), std::string(50, 'v')).ok());
    }
    EXPECT_TRUE(writer.Finish().ok());
    intact_ = read_file(path_);
  }

  // Nothing if the file or a row cannot be read.
  std::optional<int> rows() {
    rocksdb::SstFileReader reader(options_);
    if (!reader.Open(path_).ok()) return std::nullopt;
    std::unique_ptr<rocksdb::Iterator> row(reader.NewIterator(rocksdb::ReadOptions()));
    int count = 0;
    for (row->SeekToFirst(); row->Valid(); row->Next()) ++count;
    return row->status().ok() ? std::optional(count) : std::nullopt;
  }

  // What is left to compact has no rows.
  std::unique_ptr<rocksdb::DB> store_of_deleted_rows() {
    TempDirectory& directory = stores_.emplace_back();
    options_.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options_, directory / "db", &opened).ok());
    std::unique_ptr<rocksdb::DB> db(opened);
    EXPECT_TRUE(db->Put({}, "key", "value").ok());
    EXPECT_TRUE(db->Flush({}).ok());
    EXPECT_TRUE(db->DeleteRange({}, db->DefaultColumnFamily(), "a", "z").ok());
    EXPECT_TRUE(db->Flush({}).ok());
    return db;
  }

  void expect_all_or_none(const std::string& damaged) {
    write_file(path_, damaged);
    EXPECT_EQ(rows().value_or(kRows), kRows);
  }

  TempDirectory directory_;
  const std::string path_ = directory_ / "000007.sst";
  std::shared_ptr<FaultFileSystem> disk_ = std::make_shared<FaultFileSystem>();
  std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(std::make_shared<SortedFileGuard>(disk_));
  rocksdb::Options options_;
  std::string intact_;
  std::deque<TempDirectory> stores_;
};

TEST_F(SortedFileGuardTest, AnIntactFileIsRead) {
  EXPECT_EQ(rows(), kRows);
}

TEST_F(SortedFileGuardTest, AnyFlippedBitIsSafe) {
  for (size_t at = 0; at < intact_.size(); at += repetition_stride()) {
    SCOPED_TRACE("byte " + std::to_string(at));
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = intact_;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      expect_all_or_none(damaged);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

// RocksDB reads the end of the properties as the number of restart points.
TEST_F(SortedFileGuardTest, AnyLostBytesAreSafe) {
  for (const char lost : {'\0', '\xff'}) {
    for (size_t at = 0; at < intact_.size(); at += 3) {
      SCOPED_TRACE("byte " + std::to_string(at));
      std::string damaged = intact_;
      const size_t bytes = std::min<size_t>(12, damaged.size() - at);
      expect_all_or_none(damaged.replace(at, bytes, std::string(bytes, lost)));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST_F(SortedFileGuardTest, AShorterFileIsRejected) {
  for (size_t size = 0; size < intact_.size(); size += 7) {
    write_file(path_, intact_.substr(0, size));
    EXPECT_EQ(rows(), std::nullopt) << size;
  }
}

// Its file is empty. Without the guard, an assertion of RocksDB ends the process.
TEST_F(SortedFileGuardTest, ACompactionWithoutRowsMayFailToSync) {
  const std::unique_ptr<rocksdb::DB> db = store_of_deleted_rows();
  disk_->fail_syncs(true);
  EXPECT_FALSE(db->CompactRange({}, nullptr, nullptr).ok()) << "the manifest cannot be synced";
  disk_->fail_syncs(false);
}

TEST_F(SortedFileGuardTest, ACompactionWithoutRowsMayFindNoSpace) {
  for (const uint64_t free_bytes : {0, 300}) {
    const std::unique_ptr<rocksdb::DB> db = store_of_deleted_rows();
    disk_->set_free_bytes(free_bytes);
    db->CompactRange({}, nullptr, nullptr).PermitUncheckedError();
    disk_->release_space();
    std::string value;
    EXPECT_TRUE(db->Get({}, "key", &value).IsNotFound());
  }
}

TEST_F(SortedFileGuardTest, ACompactionWithoutRowsMayFailToWrite) {
  const std::unique_ptr<rocksdb::DB> db = store_of_deleted_rows();
  disk_->fail_writes(true);
  EXPECT_FALSE(db->CompactRange({}, nullptr, nullptr).ok());
  disk_->fail_writes(false);
}

TEST_F(SortedFileGuardTest, ARowIsNotAcknowledgedIfItsFileIsNotSynced) {
  options_.create_if_missing = true;
  rocksdb::DB* opened = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options_, directory_ / "db", &opened).ok());
  const std::unique_ptr<rocksdb::DB> db(opened);
  ASSERT_TRUE(db->Put({}, "key", "value").ok());
  disk_->fail_syncs(true);
  EXPECT_FALSE(db->Flush({}).ok());
  disk_->fail_syncs(false);
}

TEST_F(SortedFileGuardTest, AFailedReadIsReported) {
  disk_->fail_reads_of(path_, intact_.size() - 100, intact_.size());
  EXPECT_EQ(rows(), std::nullopt);
}

}  // namespace
}  // namespace fathom::store::testing
