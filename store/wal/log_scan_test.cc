// Flipped, truncated and overwritten logs: the damage is reported and every other record is found.
#include "store/wal/log_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

#include <rocksdb/db.h>

#include "base/testing/repetitions.h"
#include "base/testing/temp_directory.h"
#include "store/testing/log_records.h"
#include "store/wal/log_block.h"
#include "store/wal/log_writer.h"

namespace fathom::store::testing {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Contains no zeros, so that overwriting with zeros always changes bytes.
std::string noise(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(1 + random() % 255);
  return bytes;
}

class LogScanTest : public ::testing::Test {
 protected:
  std::string path() const { return directory_ / "000007.log"; }

  std::string write(const std::vector<std::string>& records) {
    Result<LogWriter> log = LogWriter::create(*rocksdb::Env::Default(), path());
    EXPECT_TRUE(log.ok());
    for (const std::string& record : records) EXPECT_TRUE(log->add(record).ok());
    EXPECT_TRUE(log->finish().ok());
    return read_file(path());
  }

  LogSummary scan(const std::string& bytes) {
    std::ofstream(path(), std::ios::binary) << bytes;
    found_ = LogRecords();
    Result<LogSummary> summary = scan_log(*rocksdb::Env::Default(), path(), found_);
    EXPECT_TRUE(summary.ok());
    return summary.ok() ? *summary : LogSummary();
  }

  // Expects all of `records` except those that the damage touches.
  void expect_all_but(const std::vector<std::string>& records, size_t most_missing) {
    size_t at = 0, missing = 0;
    for (const std::string& record : records) {
      const bool is_here = at < found_.records.size() && found_.records[at] == record;
      is_here ? ++at : ++missing;
    }
    EXPECT_EQ(at, found_.records.size()) << "something was found that was never written";
    EXPECT_LE(missing, most_missing);
  }

  TempDirectory directory_;
  LogRecords found_;
};

const std::vector<std::string> kRecords = {noise(40, 1),     noise(100, 2),    noise(50'000, 3), noise(20, 4),
                                           noise(32'000, 5), noise(70'000, 6), noise(30, 7),     noise(60, 8)};

TEST_F(LogScanTest, ReadsWhatTheWriterWrote) {
  const LogSummary summary = scan(write(kRecords));
  EXPECT_TRUE(summary.is_whole());
  EXPECT_EQ(summary.records, kRecords.size());
  EXPECT_EQ(found_.records, kRecords);
}

TEST_F(LogScanTest, DetectsEveryFlippedBit) {
  const std::string bytes = write(kRecords);
  std::mt19937_64 random(1);
  for (uint64_t i = 0; i < repetitions(3000); ++i) {
    // Every other flip hits the beginning of the log, where short records make headers frequent.
    const size_t at = i % 2 ? random() % bytes.size() : random() % 200;
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    SCOPED_TRACE("byte " + std::to_string(at));
    const LogSummary summary = scan(damaged);
    if (summary.is_whole()) {
      EXPECT_EQ(found_.records, kRecords) << "only padding may be anything";
    }
    EXPECT_EQ(summary.incomplete_from, std::nullopt) << "a flip is no torn write";
    expect_all_but(kRecords, summary.damages);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(LogScanTest, TruncationAnywhereIsNoDamage) {
  const std::string bytes = write(kRecords);
  for (size_t size = 0; size < bytes.size(); size += size < 300 ? 1 : 997) {
    SCOPED_TRACE("size " + std::to_string(size));
    const LogSummary summary = scan(bytes.substr(0, size));
    EXPECT_EQ(summary.damages, 0u);
    EXPECT_TRUE(std::equal(found_.records.begin(), found_.records.end(), kRecords.begin()));
    if (summary.incomplete_from) {
      // The log is intact without its incomplete record.
      std::vector<std::string> before = found_.records;
      EXPECT_TRUE(scan(bytes.substr(0, *summary.incomplete_from)).is_whole());
      EXPECT_EQ(found_.records, before);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(LogScanTest, ZerosInPlaceOfTheLastRecordAreDamage) {
  std::string bytes = write(kRecords);
  std::fill(bytes.end() - 67, bytes.end(), '\0');
  const LogSummary summary = scan(bytes);
  EXPECT_EQ(summary.damages, 1u);
  expect_all_but(kRecords, 1);
  EXPECT_EQ(found_.damages.front().end(), bytes.size());
}

TEST_F(LogScanTest, FindsRecordsBehindAnOverwrittenSector) {
  const std::string bytes = write(kRecords);
  for (size_t at = 0; at + 512 < bytes.size(); at += 512) {
    SCOPED_TRACE("sector at " + std::to_string(at));
    for (const std::string& sector : {std::string(512, '\0'), noise(512, at)}) {
      std::string damaged = bytes;
      damaged.replace(at, 512, sector);
      const LogSummary summary = scan(damaged);
      EXPECT_GE(summary.damages, 1u);
      expect_all_but(kRecords, 4);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

// Senders choose the bytes of their spans; a flipped bit must not turn these bytes into records.
TEST_F(LogScanTest, RejectsRecordsInsideADamagedRecord) {
  const std::string inner = write({noise(50, 10), noise(60, 11)});
  const std::vector<std::string> records = {noise(20, 12), noise(20, 13) + inner, noise(20, 14)};
  std::string bytes = write(records);
  const size_t second = 20 + kFragmentHeaderBytes;
  for (size_t bit = 0; bit < 8 * (kFragmentHeaderBytes + 20); ++bit) {
    std::string damaged = bytes;
    damaged[second + bit / 8] = static_cast<char>(damaged[second + bit / 8] ^ (1 << bit % 8));
    scan(damaged);
    expect_all_but(records, 1);
  }
}

// The disk loses the header of the record around them: nothing says where it ends.
TEST_F(LogScanTest, RejectsRecordsInsideARecordWhoseHeaderIsLost) {
  std::string inner;
  while (inner.size() < 4000) inner += write({noise(50, 10)});
  const std::vector<std::string> records = {noise(20, 12), noise(600, 13) + inner + noise(30, 15), noise(20, 14)};
  std::string bytes = write(records);
  bytes.replace(20 + kFragmentHeaderBytes, 512, std::string(512, '\0'));
  scan(bytes);
  EXPECT_EQ(found_.records, (std::vector<std::string>{records.front(), records.back()}));
}

class LogScanOfRocksDb : public LogScanTest {
 protected:
  rocksdb::DB* open() {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.wal_recovery_mode = rocksdb::WALRecoveryMode::kAbsoluteConsistency;
    options.avoid_flush_during_recovery = true;
    rocksdb::DB* db = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, directory_ / "db", &db).ok());
    return db;
  }
  std::string log_path() const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / "db")) {
      if (entry.path().extension() == ".log" && entry.file_size() > 0) return entry.path();
    }
    return "";
  }
};

TEST_F(LogScanOfRocksDb, CopyOfAnIntactLogIsIdentical) {
  std::unique_ptr<rocksdb::DB> db(open());
  ASSERT_TRUE(db);
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(db->Put({}, "key" + std::to_string(i), noise(static_cast<size_t>(i * 37), 1)).ok());
  }
  db.reset();
  const std::string bytes = read_file(log_path());
  EXPECT_TRUE(scan(bytes).is_whole());
  ASSERT_EQ(found_.records.size(), 300u);
  EXPECT_EQ(write(found_.records), bytes);
}

TEST_F(LogScanOfRocksDb, RocksDbReadsTheRepairedCopy) {
  std::unique_ptr<rocksdb::DB> db(open());
  ASSERT_TRUE(db);
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(db->Put({}, "key" + std::to_string(i), noise(400, 1)).ok());
  db.reset();
  std::string bytes = read_file(log_path());
  bytes[bytes.size() / 3] = static_cast<char>(bytes[bytes.size() / 3] ^ 4);
  EXPECT_EQ(scan(bytes).damages, 1u);
  ASSERT_EQ(found_.records.size(), 299u);
  const std::string log = log_path();
  write(found_.records);
  std::filesystem::rename(path(), log);
  db.reset(open());
  ASSERT_TRUE(db);
  int found = 0;
  std::string value;
  for (int i = 0; i < 300; ++i) found += db->Get({}, "key" + std::to_string(i), &value).ok();
  EXPECT_EQ(found, 299);
}

}  // namespace
}  // namespace fathom::store::testing
