// Damaged logs: intact batches are kept, the loss is recorded with its time range, and the store accepts writes.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/time.h"
#include "store/testing/damage.h"
#include "store/testing/log_damage.h"

namespace fathom::store::testing {
namespace {

const std::string kLostBatches = "fathom_store_lost_batches_total";

class RocksLogDamage : public LogDamage {
 protected:
  // The first damage of a log that a second one can follow.
  void repair_and_keep_log(const std::string& path) {
    flip(path, std::filesystem::file_size(path) / 3);
    rig_.options().durability = Durability::kOs;
    ASSERT_EQ(rig_.open(), "");
    rig_.close();
  }
  static void flip(const std::string& path, uint64_t at) { flip_bit(path, 8 * at); }
};

TEST_F(RocksLogDamage, OneFlippedBitDestroysOneBatch) {
  const uint64_t began_unix_nano = rig_.now_unix_nano() - kBatches * kNanosPerSecond;
  flip(log(), std::filesystem::file_size(log()) / 3);
  ASSERT_EQ(rig_.open(), "");
  const std::vector<uint64_t> missing = missing_traces();
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(counted(), 1u);
  ASSERT_EQ(rig_.store().losses().size(), 1u);
  const Loss loss = rig_.store().losses().front();
  EXPECT_EQ(loss.most_batches, 1u);
  const uint64_t received = began_unix_nano + missing.front() * kNanosPerSecond;
  EXPECT_EQ(loss.first_received_unix_nano, received - kNanosPerSecond);
  EXPECT_EQ(loss.last_received_unix_nano, received + kNanosPerSecond);
  EXPECT_EQ(set_aside(), 1u);
}

TEST_F(RocksLogDamage, StoresALostBatchThatIsSentAgain) {
  flip(log(), std::filesystem::file_size(log()) / 3);
  ASSERT_EQ(rig_.open(), "");
  const uint64_t missing = missing_traces().at(0);
  const AppendResult again = append_once(rig_.store(), batch_of(missing));
  EXPECT_EQ(again.outcome, AppendOutcome::kDurable);
  EXPECT_FALSE(again.duplicate);
  EXPECT_TRUE(append_once(rig_.store(), batch_of(missing == 1 ? 2 : 1)).duplicate);
  ASSERT_TRUE(rig_.store().settle().ok());
  EXPECT_TRUE(missing_traces().empty());
  EXPECT_EQ(counted_spans(rig_.store()), kBatches);
}

TEST_F(RocksLogDamage, CountsALossOnceAndKeepsItsRecord) {
  flip(log(), std::filesystem::file_size(log()) / 3);
  ASSERT_EQ(rig_.open(), "");
  ASSERT_EQ(rig_.reopen(), "");
  ASSERT_TRUE(rig_.store().settle().ok());
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(counted(), 1u);
  EXPECT_EQ(rig_.store().losses().size(), 1u);
  std::filesystem::remove_all(rig_.path() + "/damaged");
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(rig_.store().losses().size(), 1u) << "deleting the damaged log does not delete the record";
}

TEST_F(RocksLogDamage, SecondDamageOfALogIsASecondLoss) {
  const std::string path = log();
  repair_and_keep_log(path);
  flip(path, std::filesystem::file_size(path) / 2);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(missing_traces().size(), 2u);
  EXPECT_EQ(counted(), 2u);
  EXPECT_EQ(rig_.store().losses().size(), 2u);
  EXPECT_EQ(set_aside(), 2u);
}

TEST_F(RocksLogDamage, ADamagedLastRecordIsAPossibleLoss) {
  flip(log(), std::filesystem::file_size(log()) - 1);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(missing_traces(), std::vector<uint64_t>{kBatches});
  ASSERT_EQ(rig_.store().losses().size(), 1u);
  const Loss loss = rig_.store().losses().front();
  EXPECT_EQ(loss.most_batches, std::nullopt);
  EXPECT_EQ(loss.first_received_unix_nano, rig_.now_unix_nano() - kNanosPerSecond);
  EXPECT_GE(loss.last_received_unix_nano, rig_.now_unix_nano());
  EXPECT_EQ(counted(), 1u);
}

// A later log bounds the loss at the end of an earlier one.
TEST_F(RocksLogDamage, CountsTheLossAtTheEndOfAnEarlierLog) {
  const std::string first_log = log();
  begin_second_log();
  ASSERT_NE(first_log, newest_log());
  flip(first_log, std::filesystem::file_size(first_log) - 1);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(missing_traces(), std::vector<uint64_t>{kBatches});
  ASSERT_EQ(rig_.store().losses().size(), 1u);
  EXPECT_EQ(rig_.store().losses().front().most_batches, 1u);
}

// Batches of an earlier log, which files have, do not bound the loss of all batches of a later one.
TEST_F(RocksLogDamage, CountsTheLossOfALogAfterFlushedBatches) {
  ASSERT_EQ(rig_.open(), "");
  append(kBatches + 1);
  rig_.close();
  flip(log(), std::filesystem::file_size(log()) / 2);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_FALSE(stored_trace(rig_.store(), kBatches + 1));
  ASSERT_EQ(rig_.store().losses().size(), 1u);
  EXPECT_GE(rig_.store().losses().front().last_received_unix_nano, rig_.now_unix_nano());
}

// The batches around the loss then have times of different offsets.
TEST_F(RocksLogDamage, ALossAcrossAStepOfTheWallClockHasTheTimeOfItsBatches) {
  const uint64_t received_unix_nano = rig_.now_unix_nano();
  const std::string first_log = log();
  rig_.options().durability = Durability::kOs;
  rig_.clocks().reboot(kNanosPerMinute);
  rig_.clocks().step(-static_cast<int64_t>(10 * 365 * 24 * kNanosPerHour));
  ASSERT_EQ(rig_.open(), "");
  append(kBatches + 1);
  rig_.close();
  flip(first_log, std::filesystem::file_size(first_log) - 1);
  ASSERT_EQ(rig_.open(), "");
  ASSERT_EQ(missing_traces(), std::vector<uint64_t>{kBatches});
  ASSERT_EQ(rig_.store().losses().size(), 1u);
  EXPECT_LE(rig_.store().losses().front().first_received_unix_nano, received_unix_nano);
  EXPECT_GE(rig_.store().losses().front().last_received_unix_nano, received_unix_nano);
}

// The power failed during the write, so it was never acknowledged.
TEST_F(RocksLogDamage, AnIncompleteLastRecordIsNoLoss) {
  const std::string bytes = read_file(log());
  const uint64_t cut_before = metric("fathom_store_cut_log_bytes_total");
  constexpr size_t kPartOfARecord = 20;
  write_file(log(), bytes + bytes.substr(0, kPartOfARecord));
  ASSERT_EQ(rig_.open(), "");
  EXPECT_TRUE(missing_traces().empty());
  EXPECT_EQ(metric("fathom_store_cut_log_bytes_total"), cut_before + kPartOfARecord);
  EXPECT_TRUE(rig_.store().losses().empty());
  EXPECT_EQ(counted(), 0u);
  EXPECT_EQ(set_aside(), 0u);
  append(kBatches + 1);
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_TRUE(missing_traces().empty());
  EXPECT_TRUE(stored_trace(rig_.store(), kBatches + 1));
}

// The earlier log was synced before the later one was written, so a disk has cut it off.
TEST_F(RocksLogDamage, AnEarlierLogThatEndsWithinARecordIsDamaged) {
  const std::string first_log = log();
  begin_second_log();
  ASSERT_NE(first_log, newest_log());
  const std::string bytes = read_file(first_log);
  write_file(first_log, bytes.substr(0, bytes.size() - 20));
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(missing_traces(), std::vector<uint64_t>{kBatches});
  ASSERT_EQ(rig_.store().losses().size(), 1u);
  EXPECT_EQ(rig_.store().losses().front().most_batches, 1u);
  EXPECT_EQ(counted(), 1u);
  EXPECT_EQ(set_aside(), 1u);
}

// An operator deletes DIR/damaged after the first loss.
TEST_F(RocksLogDamage, SecondDamageCountsThoughTheFirstDamagedLogIsDeleted) {
  const std::string path = log();
  repair_and_keep_log(path);
  std::filesystem::remove_all(rig_.path() + "/damaged");
  flip(path, std::filesystem::file_size(path) / 2);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(missing_traces().size(), 2u);
  EXPECT_EQ(counted(), 2u);
  EXPECT_EQ(rig_.store().losses().size(), 2u);
}

TEST_F(RocksLogDamage, ForgetsALossWhenRetentionDropsItsTime) {
  flip(log(), std::filesystem::file_size(log()) / 3);
  rig_.options().partition_nano = 10 * kNanosPerSecond;
  ASSERT_EQ(rig_.open(), "");
  rig_.advance(20 * kNanosPerSecond);
  append(kBatches + 1);
  ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano()).ok());
  EXPECT_TRUE(rig_.store().losses().empty());
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_TRUE(rig_.store().losses().empty());
  EXPECT_EQ(counted(), 1u);
}

// Flips headers, sequence numbers, keys and values; each destroys at most one batch, and is counted.
TEST_F(RocksLogDamage, CountsTheLossOfAnyFlip) {
  const std::string path = log(), bytes = read_file(path);
  const uint64_t last_row = bytes.size() - 400;
  for (uint64_t at = last_row - 400; at < last_row; at += 13) {
    SCOPED_TRACE("byte " + std::to_string(at));
    const uint64_t before = metric(kLostBatches);
    RocksRig copy;
    std::filesystem::copy(rig_.path(), copy.path(), std::filesystem::copy_options::recursive);
    flip(copy.path() + "/store/" + std::filesystem::path(path).filename().string(), at);
    ASSERT_EQ(copy.open(), "");
    const uint64_t stored = counted_spans(copy.store());
    EXPECT_EQ(stored + (metric(kLostBatches) - before), kBatches);
    EXPECT_GE(stored, kBatches - 1);
  }
}

TEST_F(RocksLogDamage, AStartReportsHowManyLogsItRepairs) {
  begin_second_log();
  for (const std::string& path : logs()) flip(path, 20);
  ASSERT_EQ(logs().size(), 2u);
  ::testing::internal::CaptureStderr();
  const std::string opened = rig_.open();
  const std::string text = ::testing::internal::GetCapturedStderr();
  ASSERT_EQ(opened, "");
  EXPECT_NE(text.find("/store: 2 of 2; copying their intact records"), std::string::npos) << text;
  EXPECT_NE(text.find("repaired logs: 1 of 2"), std::string::npos) << text;
  EXPECT_NE(text.find("repaired logs: 2 of 2"), std::string::npos) << text;
}

// The disk reports errors instead of wrong bytes.
TEST_F(RocksLogDamage, ABadSectorDestroysItsBatches) {
  const uint64_t third = std::filesystem::file_size(log()) / 3;
  rig_.disk().fail_reads_of(log(), third, third + 1);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_GE(missing_traces().size(), 1u);
  EXPECT_LE(missing_traces().size(), 5u) << "of a sector of 512 bytes";
  ASSERT_EQ(rig_.store().losses().size(), 1u);
  EXPECT_EQ(set_aside(), 1u);
}

// The disk itself has failed, and may be readable later.
TEST_F(RocksLogDamage, ALogThatCannotBeReadAtAllStopsTheStart) {
  rig_.disk().fail_reads_of(log(), 0, UINT64_MAX);
  EXPECT_NE(rig_.open(), "");
  rig_.disk().fail_reads_of("", 0, 0);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(missing_traces().size(), 0u);
}

// DIR/store may be a mounted disk, or a symbolic link to one.
TEST_F(RocksLogDamage, IsRepairedOnAFileSystemOfItsOwn) {
  const std::string path = log(), damaged = read_file(path);
  flip(path, std::filesystem::file_size(path) / 3);
  rig_.disk().separate_directories(true);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(missing_traces().size(), 1u);
  EXPECT_EQ(set_aside(), 1u);
  for (const auto& kept : std::filesystem::directory_iterator(rig_.path() + "/damaged")) {
    EXPECT_EQ(kept.file_size(), damaged.size());
  }
}

TEST_F(RocksLogDamage, AFullDiskNamesTheWaysOut) {
  flip(log(), std::filesystem::file_size(log()) / 3);
  rig_.disk().set_free_bytes(100);
  const std::string fault = rig_.open();
  EXPECT_NE(fault.find("delete a file of another program"), std::string::npos) << fault;
  EXPECT_NE(fault.find("fathom store repair " + rig_.path() + " NEW_DIR"), std::string::npos) << fault;
}

// Every start runs out of space a little later than the one before.
TEST_F(RocksLogDamage, RepairSurvivesCrashes) {
  flip(log(), std::filesystem::file_size(log()) / 3);
  for (uint64_t free_bytes = 0;; free_bytes += 500) {
    rig_.disk().set_free_bytes(free_bytes);
    const std::string fault = rig_.open();
    rig_.close();
    rig_.disk().crash();
    rig_.disk().restart();
    if (fault.empty()) break;
    ASSERT_LT(free_bytes, 1u << 20) << fault;
  }
  rig_.disk().release_space();
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(missing_traces().size(), 1u);
  EXPECT_EQ(rig_.store().losses().size(), 1u);
  EXPECT_EQ(set_aside(), 1u);
}

}  // namespace
}  // namespace fathom::store::testing
