// Logs that are filled ahead of their records: where the records end, and what a mark proves.
#include "store/wal/log_tail.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <rocksdb/write_batch.h>

#include "base/testing/temp_directory.h"
#include "store/testing/log_records.h"
#include "store/wal/log_block.h"
#include "store/wal/log_mark.h"
#include "store/wal/log_repair.h"
#include "store/wal/log_writer.h"
#include "store/wal/synced_logs.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kLog = 7, kSalt = 12345;
constexpr size_t kFillBytes = 5 * kLogPageBytes;

std::string batch_record(uint64_t sequence, const std::string& value) {
  rocksdb::WriteBatch batch;
  EXPECT_TRUE(batch.Put("key", value).ok());
  std::string bytes = batch.Data();
  bytes.replace(0, sizeof sequence, reinterpret_cast<const char*>(&sequence), sizeof sequence);
  return bytes;
}

const std::string kBatches[] = {batch_record(1, std::string(300, 'a')), batch_record(2, std::string(50'000, 'b')),
                                batch_record(3, std::string(200, 'c'))};

class LogTailTest : public ::testing::Test {
 protected:
  LogTailTest() {
    std::filesystem::create_directories(places_.store);
    Result<LogWriter> log = LogWriter::create(env_, path());
    for (const std::string& record : kBatches) EXPECT_TRUE(log.ok() && log->add(record).ok());
    EXPECT_TRUE(log->finish().ok());
    records_ = read();
  }

  std::string path() const { return places_.store + "/000007.log"; }
  std::string read() const {
    std::ifstream file(path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static uint64_t page_end(uint64_t offset) { return (offset + kLogPageBytes - 1) / kLogPageBytes * kLogPageBytes; }
  // The records in front of a fill whose mark has `marked_end`.
  static std::string filled(std::string bytes, uint64_t marked_end, uint64_t log = kLog) {
    bytes.resize(page_end(bytes.size() + kFillBytes) - kLogMarkBytes, kLogFillByte);
    return bytes + LogMark{.log = log, .salt = kSalt, .records_end = marked_end}.encoded();
  }
  std::string filled() const { return filled(records_, records_.size()); }

  LogSummary scan(const std::string& bytes) {
    std::ofstream(path(), std::ios::binary) << bytes;
    found_ = LogRecords();
    Result<LogSummary> summary = scan_log(env_, path(), found_);
    EXPECT_TRUE(summary.ok());
    return summary.ok() ? *summary : LogSummary();
  }
  LogState state(const std::string& bytes) {
    std::ofstream(path(), std::ios::binary) << bytes;
    Result<std::vector<LogState>> logs = scan_logs(env_, places_.store);
    EXPECT_TRUE(logs.ok() && logs->size() == 1);
    return logs->front();
  }
  // Where the last record begins.
  uint64_t last_record() const { return records_.size() - kBatches[2].size() - kFragmentHeaderBytes; }

  TempDirectory directory_;
  rocksdb::Env& env_ = *rocksdb::Env::Default();
  const LogPlaces places_{directory_ / "store", directory_ / "damaged"};
  std::string records_;
  LogRecords found_;
};

TEST_F(LogTailTest, AFilledLogIsIntact) {
  const LogSummary summary = scan(filled());
  EXPECT_EQ(found_.records.size(), std::size(kBatches));
  EXPECT_EQ(summary.damages, 0u);
  EXPECT_FALSE(summary.incomplete_from);
  EXPECT_EQ(summary.end, records_.size());
  EXPECT_EQ(summary.marked_end, records_.size());
  EXPECT_TRUE(summary.is_filled());
  EXPECT_FALSE(summary.is_whole()) << "RocksDB cannot read it";
}

TEST_F(LogTailTest, ALogWithoutFillIsAsBefore) {
  const LogSummary summary = scan(records_);
  EXPECT_TRUE(summary.is_whole());
  EXPECT_EQ(summary.end, records_.size());
  EXPECT_FALSE(summary.marked_end);
}

// A power cut can interrupt the first write of the fill.
TEST_F(LogTailTest, AFillWithoutItsMarkIsNoDamage) {
  for (const size_t fill : {1u, 100u, 5000u, 40'000u}) {
    const LogSummary summary = scan(records_ + std::string(fill, kLogFillByte));
    EXPECT_EQ(found_.records.size(), std::size(kBatches)) << fill;
    EXPECT_EQ(summary.damages, 0u) << fill;
    EXPECT_EQ(summary.end, records_.size()) << fill;
  }
}

TEST_F(LogTailTest, RecordsMayEndWithFillBytes) {
  const std::string ends_filled = batch_record(1, std::string(40'000, kLogFillByte));
  Result<LogWriter> log = LogWriter::create(env_, path());
  EXPECT_TRUE(log.ok() && log->add(ends_filled).ok() && log->finish().ok());
  const std::string bytes = read();
  for (const std::string& content : {filled(bytes, bytes.size()), bytes + std::string(9000, kLogFillByte), bytes}) {
    const LogSummary summary = scan(content);
    EXPECT_EQ(found_.records, std::vector{ends_filled});
    EXPECT_EQ(summary.damages, 0u);
    EXPECT_EQ(summary.end, bytes.size());
  }
}

TEST_F(LogTailTest, TheGreatestEndCounts) {
  const std::string twice = filled(filled(records_, last_record()), records_.size());
  const LogSummary summary = scan(twice);
  EXPECT_EQ(summary.marked_end, records_.size());
  EXPECT_EQ(summary.end, records_.size());
  EXPECT_EQ(summary.damages, 0u);
}

TEST_F(LogTailTest, AMarkOfAnotherLogProvesNothing) {
  EXPECT_FALSE(scan(filled(records_, records_.size(), kLog + 1)).marked_end);
}

// A sender chose the content of a batch: many marks of this log. Some of them are at the end of a page.
TEST_F(LogTailTest, AMarkWithinARecordProvesNothing) {
  for (const uint64_t claimed : {uint64_t{0}, uint64_t{100'000}}) {
    std::string marks;
    while (marks.size() < 2'000'000) marks += LogMark{.log = kLog, .salt = kSalt, .records_end = claimed}.encoded();
    const std::string batches[] = {kBatches[0], kBatches[2], batch_record(4, marks), batch_record(5, "last")};
    Result<LogWriter> log = LogWriter::create(env_, path());
    for (const std::string& batch : batches) EXPECT_TRUE(log.ok() && log->add(batch).ok());
    EXPECT_TRUE(log->finish().ok());
    const std::string written = read();
    EXPECT_TRUE(scan(written).is_whole());
    std::string damaged = written;
    damaged[100] ^= 1;
    EXPECT_FALSE(scan(damaged).incomplete_from);
    EXPECT_EQ(found_.records.size(), std::size(batches) - 1) << "one record is damaged";
    // kill -9 between two writes of the record.
    const LogState torn = state(written.substr(0, kLogFillBytes + 300));
    EXPECT_FALSE(torn.is_damaged());
    EXPECT_EQ(torn.summary.records, 2u);
  }
}

// The disk lost the last write: only the mark shows it.
TEST_F(LogTailTest, AMissingLastRecordIsNoticed) {
  std::string bytes = filled();
  bytes.replace(last_record(), records_.size() - last_record(), records_.size() - last_record(), kLogFillByte);
  const LogState log = state(bytes);
  EXPECT_TRUE(log.is_cut_short);
  EXPECT_EQ(log.missing_bytes, records_.size() - last_record());
}

TEST_F(LogTailTest, ADamagedSyncedRecordIsDamage) {
  std::string bytes = filled();
  bytes[last_record() + 50] ^= 4;
  const LogSummary summary = scan(bytes);
  EXPECT_EQ(found_.records.size(), std::size(kBatches) - 1);
  ASSERT_EQ(found_.damages.size(), 1u);
  EXPECT_EQ(found_.damages[0].offset, last_record());
  EXPECT_EQ(found_.damages[0].end(), records_.size());
  EXPECT_FALSE(summary.incomplete_from);
}

// The power failed during the write of a record, whose pages reached the disk in any order.
TEST_F(LogTailTest, AnInterruptedRecordIsIncomplete) {
  for (const size_t begin : {0u, 512u, 20'000u, 40'000u}) {
    std::string bytes = filled(records_, kBatches[0].size() + kFragmentHeaderBytes);
    bytes.replace(kBatches[0].size() + kFragmentHeaderBytes + begin, 600, 600, kLogFillByte);
    const LogSummary summary = scan(bytes);
    EXPECT_EQ(found_.records.size(), 1u) << begin;
    EXPECT_EQ(summary.damages, 0u) << begin;
    EXPECT_EQ(summary.incomplete_from, kBatches[0].size() + kFragmentHeaderBytes) << begin;
    EXPECT_FALSE(state(bytes).is_damaged()) << begin;
  }
}

TEST_F(LogTailTest, AFlippedFillByteChangesNothing) {
  std::string bytes = filled();
  bytes[records_.size() + kLogPageBytes] ^= 1;
  const LogState log = state(bytes);
  EXPECT_FALSE(log.is_damaged());
  EXPECT_EQ(log.summary.records, std::size(kBatches));
  EXPECT_EQ(log.summary.intact_end(), records_.size());
}

// It may have proved that a record is missing. An older mark does not replace it.
TEST_F(LogTailTest, ADamagedMarkIsDamage) {
  for (std::string bytes : {filled(), filled(filled(records_, last_record()), records_.size())}) {
    bytes[bytes.size() - kLogMarkBytes + 25] ^= 1;
    const LogState log = state(bytes);
    EXPECT_TRUE(log.is_damaged());
    EXPECT_EQ(log.summary.records, std::size(kBatches));
  }
}

// The power failed while the log was filled again.
TEST_F(LogTailTest, AnInterruptedFillKeepsTheMarkBefore) {
  for (const std::string& rest : {std::string(5000, kLogFillByte), std::string(5000, 0)}) {
    const LogState log = state(filled() + rest);
    EXPECT_FALSE(log.is_damaged());
    EXPECT_EQ(log.summary.marked_end, records_.size());
    EXPECT_EQ(log.summary.records, std::size(kBatches));
  }
}

// The power failed after the log was closed. It has its fill again, and zeros where the file system cut it off.
TEST_F(LogTailTest, AnEarlierLogMayHaveItsFill) {
  std::string bytes = filled();
  for (const size_t zeros : {0u, 500u}) {
    bytes.replace(records_.size(), zeros, zeros, 0);
    std::ofstream(path(), std::ios::binary) << bytes;
    Result<LogWriter> later = LogWriter::create(env_, places_.store + "/000008.log");
    EXPECT_TRUE(later.ok() && later->add(batch_record(9, "later")).ok() && later->finish().ok());
    Result<std::vector<LogState>> logs = scan_logs(env_, places_.store);
    ASSERT_TRUE(logs.ok() && logs->size() == 2u);
    EXPECT_FALSE(logs->front().is_damaged()) << zeros;
    EXPECT_EQ(logs->front().summary.records, std::size(kBatches));
  }
}

TEST_F(LogTailTest, ARepairRemovesTheFill) {
  state(filled());
  EXPECT_TRUE(repair_logs(env_, places_).ok());
  EXPECT_EQ(read(), records_);
  EXPECT_FALSE(std::filesystem::exists(places_.damaged)) << "nothing was damaged";
}

TEST_F(LogTailTest, ARepairLeavesALinkedLogAsItIs) {
  state(filled());
  std::filesystem::create_directories(places_.damaged);
  const std::string link = places_.damaged + "/000007.log.0000000000000000";
  std::filesystem::create_hard_link(path(), link);
  EXPECT_TRUE(repair_logs(env_, places_).ok());
  EXPECT_EQ(read(), records_);
  EXPECT_EQ(std::filesystem::file_size(link), filled().size());
}

TEST_F(LogTailTest, ALogThatLostAllRecordsIsMissing) {
  SyncedLogs synced;
  std::ofstream(places_.store + "/CURRENT") << "MANIFEST-000003\n";
  synced.add(kLog, records_.size());
  EXPECT_TRUE(synced.write(env_, places_.store).ok());
  const LogState log = state(filled(std::string(records_.size(), kLogFillByte), records_.size()));
  EXPECT_TRUE(log.is_missing);
  EXPECT_TRUE(repair_logs(env_, places_).ok());
  EXPECT_EQ(read(), "");
}

}  // namespace
}  // namespace fathom::store::testing
