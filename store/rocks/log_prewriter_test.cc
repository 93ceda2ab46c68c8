// Small synced records overwrite what the log already has. A closed log has no fill.
#include "store/rocks/log_prewriter.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>

#include "base/testing/temp_directory.h"
#include "store/rocks/log_witness.h"
#include "store/testing/fault_file_system.h"
#include "store/testing/log_records.h"
#include "store/wal/log_mark.h"
#include "store/wal/log_writer.h"

namespace fathom::store::testing {
namespace {

// Of a record that crosses a few blocks.
constexpr size_t kRecordHeaders = 3 * 7;
constexpr int kBefore = LogPrewriter::kSmallWritesBefore;

// Writes through the witness, as RocksDB does.
class LogPrewriterTest : public ::testing::Test {
 protected:
  LogPrewriterTest() {
    std::ofstream(directory_ / "CURRENT") << "MANIFEST-000003\n";
    EXPECT_TRUE(witness_->NewWritableFile(path(), rocksdb::FileOptions(), &log_, nullptr).ok());
  }

  std::string path() const { return directory_ / "000007.log"; }
  uint64_t size() const { return std::filesystem::file_size(path()); }
  // A record of the log, as RocksDB would write it at this place.
  bool append(size_t bytes) {
    const std::string other = directory_ / "other";
    Result<LogWriter> writer = LogWriter::create(*rocksdb::Env::Default(), other);
    for (const std::string& record : records_) EXPECT_TRUE(writer->add(record).ok());
    records_.push_back(std::string(bytes, static_cast<char>('a' + records_.size() % 26)));
    EXPECT_TRUE(writer->add(records_.back()).ok() && writer->finish().ok());
    std::ostringstream text;
    text << std::ifstream(other, std::ios::binary).rdbuf();
    const std::string all = text.str();
    const bool is_written = log_->Append(all.substr(end_), {}, nullptr).ok();
    end_ = all.size();
    return is_written;
  }
  bool sync() { return log_->Sync({}, nullptr).ok(); }
  void write(int records, size_t bytes = 100) {
    for (int record = 0; record < records; ++record) EXPECT_TRUE(append(bytes) && sync());
  }
  void fill() {
    write(kBefore + 1);
    EXPECT_GT(size(), end_ + kLogFillBytes - kLogPageBytes);
  }
  LogSummary scan() {
    LogRecords found;
    Result<LogSummary> summary = scan_log(*rocksdb::Env::Default(), path(), found);
    EXPECT_TRUE(summary.ok());
    found_ = found.records;
    return *summary;
  }
  void expect_all_intact() {
    const LogSummary summary = scan();
    EXPECT_EQ(found_, records_);
    EXPECT_EQ(summary.damages, 0u);
    EXPECT_EQ(summary.end, end_);
    EXPECT_FALSE(summary.incomplete_from);
  }

  TempDirectory directory_;
  std::shared_ptr<FaultFileSystem> disk_ = std::make_shared<FaultFileSystem>();
  std::unique_ptr<LogWitness> witness_ = std::make_unique<LogWitness>(disk_);
  std::unique_ptr<rocksdb::FSWritableFile> log_;
  std::vector<std::string> records_, found_;
  size_t end_ = 0;
};

TEST_F(LogPrewriterTest, FillsAfterAFewSmallWrites) {
  write(kBefore);
  EXPECT_EQ(size(), end_);
  write(1);
  const uint64_t filled = size();
  EXPECT_GE(filled, end_ + kLogFillBytes - kLogPageBytes);
  EXPECT_EQ(filled % kLogPageBytes, 0u);
  write(100);
  EXPECT_EQ(size(), filled) << "the file has room";
  expect_all_intact();
  EXPECT_EQ(scan().marked_end, end_);
}

TEST_F(LogPrewriterTest, FillsAgainBeforeTheRoomEnds) {
  write(60, 60'000);
  expect_all_intact();
  EXPECT_GT(size(), 3 * kLogFillBytes);
  EXPECT_EQ(scan().marked_end, end_);
}

// What is left of it beside a record would be no record and no fill.
TEST_F(LogPrewriterTest, ErasesTheMarkOfTheFillBefore) {
  fill();
  const uint64_t first = size();
  while (size() == first) write(1, 50'000);
  EXPECT_LT(end_, first);
  write(1, first - end_ - kLogMarkBytes / 2 - kRecordHeaders);
  EXPECT_GT(end_, first - kLogMarkBytes);
  EXPECT_LT(end_, first);
  expect_all_intact();
}

TEST_F(LogPrewriterTest, ALargeRecordRemovesTheFill) {
  fill();
  EXPECT_TRUE(append(LogPrewriter::kSmallWriteBytes + 1));
  EXPECT_EQ(size(), end_);
  EXPECT_TRUE(sync());
  expect_all_intact();
  write(LogPrewriter::kSmallWritesAfterLarge);
  EXPECT_EQ(size(), end_);
  write(1);
  EXPECT_GT(size(), end_);
  expect_all_intact();
}

TEST_F(LogPrewriterTest, LargeWritesAreNotFilled) {
  for (int i = 0; i < 5; ++i) write(1, LogPrewriter::kSmallWriteBytes + 1);
  EXPECT_EQ(size(), end_);
}

TEST_F(LogPrewriterTest, ManySmallRecordsFitBetweenTwoSyncs) {
  fill();
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(append(60'000));
  EXPECT_TRUE(sync());
  expect_all_intact();
}

TEST_F(LogPrewriterTest, AClosedLogHasNoFill) {
  fill();
  EXPECT_TRUE(log_->Close({}, nullptr).ok());
  EXPECT_EQ(size(), end_);
  log_.reset();
  EXPECT_EQ(size(), end_);
  EXPECT_TRUE(scan().is_whole());
}

TEST_F(LogPrewriterTest, ALogThatIsNotClosedHasNoFillEither) {
  fill();
  log_.reset();
  EXPECT_EQ(size(), end_);
}

// Whatever the power cut leaves, synced records stay. In a filled log without a sync under way, nothing is damage.
TEST_F(LogPrewriterTest, APowerCutLosesNoSyncedRecord) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    log_.reset();
    records_.clear();
    end_ = 0;
    witness_ = std::make_unique<LogWitness>(disk_);
    ASSERT_TRUE(witness_->NewWritableFile(path(), rocksdb::FileOptions(), &log_, nullptr).ok());
    write(1 + static_cast<int>(seed) % 6);
    const size_t synced = records_.size();
    const bool is_sure = size() > end_ && seed % 3 == 1;
    EXPECT_TRUE(append(20'000));
    if (seed % 3 == 0) disk_->crash_after(1);  // between the mark or the fill and the sync
    if (seed % 3 != 1) sync();
    if (!disk_->is_crashed()) disk_->crash();
    log_.reset();
    seed % 2 == 0 ? disk_->restart(seed) : disk_->restart_reordered(seed);
    const LogSummary summary = scan();
    EXPECT_TRUE(!is_sure || summary.damages == 0) << seed;
    ASSERT_GE(found_.size(), synced) << seed;
    for (size_t i = 0; i < found_.size(); ++i) EXPECT_EQ(found_[i], records_[i]) << seed;
  }
}

TEST_F(LogPrewriterTest, AFullDiskCostsOnlyTheFill) {
  write(1);
  disk_->set_free_bytes(2000);
  write(5);
  EXPECT_EQ(size(), end_);
  expect_all_intact();
  disk_->release_space();
  write(1);
  EXPECT_GT(size(), end_);
  expect_all_intact();
}

TEST_F(LogPrewriterTest, SmallRecordsNeedNoSpaceInAFilledLog) {
  fill();
  disk_->set_free_bytes(0);
  const uint64_t filled = size();
  write(20);
  EXPECT_EQ(size(), filled);
  disk_->release_space();
  expect_all_intact();
}

// Where the next record would go is unknown, so nothing is cut off.
TEST_F(LogPrewriterTest, AFailedAppendLeavesTheFill) {
  fill();
  const uint64_t filled = size();
  disk_->fail_writes(true);
  EXPECT_FALSE(log_->Append("record", {}, nullptr).ok());
  disk_->fail_writes(false);
  log_.reset();
  EXPECT_EQ(size(), filled);
  expect_all_intact();
}

// A batch may be acknowledged before it is synced.
TEST_F(LogPrewriterTest, NothingIsFilledWithoutASyncOfEachRecord) {
  witness_ = std::make_unique<LogWitness>(disk_, false);
  ASSERT_TRUE(witness_->NewWritableFile(path(), rocksdb::FileOptions(), &log_, nullptr).ok());
  write(2 * kBefore);
  EXPECT_EQ(size(), end_);
  expect_all_intact();
}

TEST_F(LogPrewriterTest, AMarkNamesNoRecordOfAFailedSync) {
  fill();
  const uint64_t synced = end_;
  EXPECT_TRUE(append(100));
  disk_->fail_syncs(true);
  EXPECT_FALSE(sync());
  disk_->fail_syncs(false);
  EXPECT_TRUE(append(100) && sync());
  disk_->crash();
  log_.reset();
  disk_->restart();
  EXPECT_EQ(scan().marked_end, synced);
}

}  // namespace
}  // namespace fathom::store::testing
