// Logs that a disk lost or emptied: a start reports their batches as lost, and never a log that was not lost.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/time.h"
#include "store/testing/damage.h"
#include "store/testing/log_damage.h"
#include "store/verify/repair.h"
#include "store/verify/verify.h"
#include "store/wal/log_repair.h"
#include "store/wal/synced_logs.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

class RocksMissingLog : public LogDamage {
 protected:
  std::string list() const { return rig_.path() + "/store/synced-logs"; }
  void expect_all_lost() {
    EXPECT_EQ(missing_traces().size(), kBatches);
    EXPECT_EQ(rig_.store().losses().size(), 1u);
    EXPECT_EQ(set_aside(), 1u);
    EXPECT_EQ(counted(), 1u) << "the number of batches is not known";
  }
};

TEST_F(RocksMissingLog, NewestOneIsALossOfEverythingSinceTheNewestSegment) {
  fs::remove(log());
  const uint64_t now = rig_.now_unix_nano();
  ASSERT_EQ(rig_.open(), "");
  expect_all_lost();
  const Loss loss = rig_.store().losses().at(0);
  EXPECT_EQ(loss.most_batches, std::nullopt);
  EXPECT_LE(loss.first_received_unix_nano, now - (kBatches - 1) * kNanosPerSecond);
  EXPECT_GE(loss.last_received_unix_nano, now);
}

TEST_F(RocksMissingLog, IsReportedOnceAndItsBatchesAreAcceptedAgain) {
  fs::remove(log());
  ASSERT_EQ(rig_.open(), "");
  ASSERT_EQ(missing_traces().size(), kBatches);
  send_again(missing_traces());
  for (int start = 0; start < 3; ++start) {
    ASSERT_EQ(rig_.reopen(), "");
    EXPECT_TRUE(missing_traces().empty());
    EXPECT_EQ(counted(), 1u);
    EXPECT_EQ(rig_.store().losses().size(), 1u);
  }
}

TEST_F(RocksMissingLog, MayBeEmpty) {
  fs::resize_file(log(), 0);
  ASSERT_EQ(rig_.open(), "");
  expect_all_lost();
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(counted(), 1u);
}

TEST_F(RocksMissingLog, MayEndWithinItsFirstRecord) {
  fs::resize_file(log(), 20);
  ASSERT_EQ(rig_.open(), "");
  expect_all_lost();
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(counted(), 1u);
}

TEST_F(RocksMissingLog, OlderOneIsALossBeforeTheNextBatch) {
  const std::string first_log = log();
  begin_second_log();
  ASSERT_NE(first_log, newest_log());
  fs::remove(first_log);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(missing_traces().size(), kBatches);
  EXPECT_TRUE(stored_trace(rig_.store(), kBatches + 1));
  ASSERT_EQ(rig_.store().losses().size(), 1u);
  EXPECT_EQ(rig_.store().losses().front().most_batches, kBatches);
  EXPECT_EQ(counted(), kBatches);
}

TEST_F(RocksMissingLog, SecondOneIsASecondLoss) {
  for (uint64_t loss = 1; loss <= 4; ++loss) {
    fs::remove(log());
    ASSERT_EQ(rig_.open(), "");
    EXPECT_EQ(counted(), loss);
    EXPECT_EQ(rig_.store().losses().size(), loss);
    EXPECT_EQ(set_aside(), loss);
    append(kBatches + loss);
    rig_.close();
  }
}

TEST_F(RocksMissingLog, IsReportedByVerification) {
  Findings intact;
  ASSERT_TRUE(verify_store(rig_.path(), intact).ok());
  EXPECT_TRUE(intact.intact());
  const std::string name = fs::path(log()).filename();
  fs::remove(log());
  Findings findings;
  ASSERT_TRUE(verify_store(rig_.path(), findings).ok());
  ASSERT_EQ(findings.damage_count(), 1u);
  EXPECT_EQ(findings.damages().front().part, "logs");
  EXPECT_EQ(findings.damages().front().place, name);
}

TEST_F(RocksMissingLog, IsALossInARepairedDirectory) {
  begin_second_log();
  fs::remove(log());
  TempDirectory directory;
  Findings findings;
  Result<RepairOutcome> repaired =
      repair_store({.from = rig_.path(), .to = directory / "new", .read_clocks = rig_.clocks().reader()}, findings);
  ASSERT_TRUE(repaired.ok()) << repaired.error().message;
  EXPECT_FALSE(findings.intact());
  RocksRig rig;
  fs::copy(directory / "new", rig.path(), fs::copy_options::recursive);
  rig.advance(rig_.now_unix_nano() - rig.now_unix_nano());
  ASSERT_EQ(rig.open(), "");
  EXPECT_TRUE(stored_trace(rig.store(), kBatches + 1));
  ASSERT_EQ(rig.store().losses().size(), 1u);
  EXPECT_EQ(rig.store().losses().front().most_batches, kBatches);
}

// As a server left it that does not know the list: it made a manifest and deleted the logs.
TEST_F(RocksMissingLog, IsNoneIfAnOlderServerDeletedIt) {
  const std::string old_list = read_file(list());
  const std::string old_log = log();
  ASSERT_EQ(rig_.reopen(), "");
  ASSERT_TRUE(rig_.store().settle().ok());
  ASSERT_TRUE(eventually([&] { return !fs::exists(old_log); }));
  rig_.close();
  write_file(list(), old_list);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_TRUE(missing_traces().empty());
  EXPECT_TRUE(rig_.store().losses().empty());
  EXPECT_EQ(set_aside(), 0u);
}

TEST_F(RocksMissingLog, IsNotKnownIfTheListIsDamaged) {
  flip_bit(list(), 100);
  fs::remove(log());
  ASSERT_EQ(rig_.open(), "");
  EXPECT_TRUE(rig_.store().losses().empty());
  append(kBatches + 1);
  rig_.close();
  fs::remove(newest_log());
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(rig_.store().losses().size(), 1u) << "the list is complete again";
}

// RocksDB may give the number of a log that it does not know to a new one.
TEST(RocksMissingLogMarks, AreNamedByTheManifest) {
  TempDirectory directory;
  const LogPlaces places{directory / "store", directory / "damaged"};
  fs::create_directory(places.store);
  rocksdb::Env& env = *rocksdb::Env::Default();
  for (const char* manifest : {"MANIFEST-000005", "MANIFEST-000005", "MANIFEST-000008"}) {
    write_file(places.store + "/CURRENT", std::string(manifest) + "\n");
    SyncedLogs logs;
    logs.add(6);
    ASSERT_TRUE(logs.write(env, places.store).ok());
    ASSERT_TRUE(repair_logs(env, places).ok());
    EXPECT_TRUE(SyncedLogs::read(env, places.store).numbers().empty());
  }
  const Result<std::vector<std::string>> marks = logs_set_aside(env, places);
  ASSERT_TRUE(marks.ok());
  EXPECT_EQ(std::set<std::string>(marks->begin(), marks->end()),
            (std::set<std::string>{"000006.log.missing.MANIFEST-000005", "000006.log.missing.MANIFEST-000008"}));
}

// Each start loses power a little later than the one before, at each change of the repair.
class RocksMissingLogStart : public RocksMissingLog {
 protected:
  void start_with_power_cuts() {
    constexpr uint64_t kMostOfRepair = 25;
    for (uint64_t changes = 0;; changes += 1 + changes / kMostOfRepair * 10) {
      rig_.disk().crash_after(changes);
      const std::string fault = rig_.open();
      const bool is_cut = rig_.disk().is_crashed();
      rig_.close();
      rig_.disk().crash();
      rig_.disk().restart(changes % 2 ? std::optional(changes) : std::nullopt);
      if (!is_cut) break;
      ASSERT_LT(changes, 5000u) << fault;
    }
    ASSERT_EQ(rig_.open(), "");
    EXPECT_EQ(missing_traces().size(), kBatches);
    EXPECT_EQ(rig_.store().losses().size(), 1u);
    EXPECT_EQ(set_aside(), 1u);
  }
};

TEST_F(RocksMissingLogStart, SurvivesPowerCutsIfItIsDeleted) {
  fs::remove(log());
  start_with_power_cuts();
}

TEST_F(RocksMissingLogStart, SurvivesPowerCutsIfItEndsWithinARecord) {
  fs::resize_file(log(), 20);
  start_with_power_cuts();
}

// An empty copy replaces it.
TEST_F(RocksMissingLogStart, SurvivesPowerCutsIfItIsDamagedAsAWhole) {
  write_file(log(), std::string(fs::file_size(log()), '\0'));
  start_with_power_cuts();
}

// Nothing is lost here, whatever interrupts the store.
class RocksKeptLogs : public ::testing::Test {
 protected:
  // The number of batches that were acknowledged; stops at a power cut.
  static uint64_t work(RocksRig& rig) {
    uint64_t acknowledged = 0;
    for (uint64_t trace = 1; trace <= 6 && !rig.disk().is_crashed(); ++trace) {
      const AppendResult result = append_once(rig.store(), make_batch({test_span(trace, 1, 0, 10)}));
      if (result.outcome == AppendOutcome::kDurable) acknowledged = trace;
      if (trace % 3 == 0) (void)rig.store().settle().ok();
    }
    return acknowledged;
  }
  static void restart(FaultFileSystem& disk, uint64_t seed) {
    if (seed % 3 == 0) disk.restart();
    if (seed % 3 == 1) disk.restart(seed);
    if (seed % 3 == 2) disk.restart_after_kill();
  }
  static void expect_no_loss(RocksRig& rig, uint64_t acknowledged) {
    EXPECT_TRUE(rig.store().losses().empty());
    EXPECT_FALSE(fs::exists(rig.path() + "/damaged"));
    for (uint64_t trace = 1; trace <= acknowledged; ++trace) EXPECT_TRUE(stored_trace(rig.store(), trace)) << trace;
  }
};

TEST_F(RocksKeptLogs, AreNotReportedAfterRestarts) {
  RocksRig rig;
  for (int round = 0; round < 12; ++round) {
    ASSERT_EQ(rig.open(), "");
    expect_no_loss(rig, round == 0 ? 0 : 6);
    work(rig);
    if (round % 3 == 2) {
      ASSERT_EQ(rig.cut_power(round), "");
    }
    rig.close();
    Findings findings;
    ASSERT_TRUE(verify_store(rig.path(), findings).ok());
    EXPECT_TRUE(findings.intact());
  }
}

// Changes are those of the list, the new manifest, first syncs and deletions of logs, and all others.
TEST_F(RocksKeptLogs, AreNotReportedAfterPowerCuts) {
  constexpr uint64_t kStride = 17;
  for (uint64_t changes = 0;; changes += kStride) {
    SCOPED_TRACE("power cut after " + std::to_string(changes) + " changes");
    RocksRig rig;
    ASSERT_EQ(rig.open(), "");
    ASSERT_EQ(append_once(rig.store(), make_batch({test_span(1, 1, 0, 10)})).outcome, AppendOutcome::kDurable);
    rig.close();
    rig.disk().crash_after(changes);
    const uint64_t acknowledged = rig.open().empty() ? work(rig) : 1;
    const bool is_cut = rig.disk().is_crashed();
    rig.close();
    rig.disk().crash();
    restart(rig.disk(), changes);
    ASSERT_EQ(rig.open(), "");
    expect_no_loss(rig, acknowledged);
    if (!is_cut || HasFailure()) break;
  }
}

// The list needs more bytes than some of these disks have. A fault that stopped RocksDB ends with the next open.
TEST_F(RocksKeptLogs, AreListedAgainAfterAFullDisk) {
  for (uint64_t free_bytes = 0; free_bytes < 1500; free_bytes += 90) {
    SCOPED_TRACE(free_bytes);
    RocksRig rig;
    ASSERT_EQ(rig.open(), "");
    rig.disk().set_free_bytes(free_bytes);
    const uint64_t acknowledged = work(rig);
    rig.disk().release_space();
    if (!rig.store().settle().ok()) {
      ASSERT_EQ(rig.reopen(), "");
    }
    const BatchPtr batch = make_batch({test_span(7, 1, 0, 10)});
    ASSERT_TRUE(eventually([&] { return append_once(rig.store(), batch).outcome == AppendOutcome::kDurable; }));
    EXPECT_FALSE(SyncedLogs::read(*rocksdb::Env::Default(), rig.path() + "/store").numbers().empty());
    ASSERT_EQ(rig.cut_power(), "");
    expect_no_loss(rig, acknowledged);
    EXPECT_TRUE(stored_trace(rig.store(), 7));
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace fathom::store::testing
