// A disk that writes a part of a file into a log: nothing is stored twice, and what it replaced is a counted loss.
#include <gtest/gtest.h>

#include <filesystem>

#include "store/testing/damage.h"
#include "store/testing/log_damage.h"
#include "store/testing/log_records.h"
#include "store/wal/log_files.h"
#include "store/wal/log_scan.h"
#include "store/wal/log_writer.h"
#include "store/wal/synced_logs.h"

namespace fathom::store::testing {
namespace {

std::vector<std::string> records_of(const std::string& path) {
  LogRecords found;
  EXPECT_TRUE(scan_log(*rocksdb::Env::Default(), path, found).ok());
  return found.records;
}

void write_records(const std::string& path, const std::vector<std::string>& records) {
  Result<LogWriter> log = LogWriter::create(*rocksdb::Env::Default(), path);
  ASSERT_TRUE(log.ok());
  for (const std::string& record : records) ASSERT_TRUE(log->add(record).ok());
  ASSERT_TRUE(log->finish().ok());
}

class RocksMisplacedRecord : public LogDamage {
 protected:
  static void replace_record(const std::string& path, size_t number, const std::string& record) {
    std::vector<std::string> records = records_of(path);
    records.at(number) = record;
    write_records(path, records);
    forget_length(path);
  }
  // The log may be shorter now. What a disk writes to the wrong place changes no length.
  static void forget_length(const std::string& path) {
    rocksdb::Env& env = *rocksdb::Env::Default();
    const std::filesystem::path log(path);
    SyncedLogs synced = SyncedLogs::read(env, log.parent_path());
    synced.add(*log_number(log.filename().string()));
    ASSERT_TRUE(synced.write(env, log.parent_path()).ok());
  }
  // One batch is lost, and everything agrees about it.
  void expect_one_loss() {
    ASSERT_EQ(rig_.open(), "");
    ASSERT_EQ(missing_traces().size(), 1u);
    EXPECT_EQ(counted(), 1u);
    EXPECT_EQ(set_aside(), 1u);
    const uint64_t stored = counted_spans(rig_.store());
    EXPECT_FALSE(append_once(rig_.store(), batch_of(missing_traces().front())).duplicate);
    ASSERT_EQ(rig_.reopen(), "");
    EXPECT_TRUE(missing_traces().empty());
    EXPECT_EQ(counted_spans(rig_.store()), stored + 1);
    EXPECT_EQ(counted(), 1u);
  }
};

TEST_F(RocksMisplacedRecord, AnEarlierRecordOfTheSameLog) {
  replace_record(log(), 40, records_of(log()).at(30));
  expect_one_loss();
}

TEST_F(RocksMisplacedRecord, ALaterRecordOfTheSameLog) {
  replace_record(log(), 30, records_of(log()).at(40));
  expect_one_loss();
}

TEST_F(RocksMisplacedRecord, TheRecordBefore) {
  replace_record(log(), 40, records_of(log()).at(39));
  expect_one_loss();
}

// The copy is kept, and its original is left out.
TEST_F(RocksMisplacedRecord, TheRecordBehind) {
  replace_record(log(), 39, records_of(log()).at(40));
  expect_one_loss();
}

TEST_F(RocksMisplacedRecord, AtTheEnd) {
  const std::vector<std::string> records = records_of(log());
  replace_record(log(), records.size() - 1, records.at(30));
  expect_one_loss();
}

TEST_F(RocksMisplacedRecord, ARecordOfALaterLogAtTheEnd) {
  const std::string first_log = log();
  begin_second_log();
  replace_record(first_log, records_of(first_log).size() - 1, records_of(newest_log()).back());
  expect_one_loss();
  EXPECT_TRUE(stored_trace(rig_.store(), kBatches + 1));
}

TEST_F(RocksMisplacedRecord, ARecordOfAManifest) {
  for (const auto& entry : std::filesystem::directory_iterator(rig_.path() + "/store")) {
    if (!entry.path().filename().string().starts_with("MANIFEST")) continue;
    replace_record(log(), 40, records_of(entry.path()).back());
  }
  expect_one_loss();
}

}  // namespace
}  // namespace fathom::store::testing
