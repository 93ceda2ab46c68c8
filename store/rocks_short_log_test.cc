// Logs that a disk cut off: a start reports the batches behind the cut as lost, also if it is between two records.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/time.h"
#include "store/testing/damage.h"
#include "store/testing/log_damage.h"
#include "store/verify/repair.h"
#include "store/verify/verify.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

class RocksShortLog : public LogDamage {
 protected:
  // The offsets behind the records of a log of one block.
  std::vector<uint64_t> record_ends() const {
    constexpr uint64_t kHeaderBytes = 7;
    const std::string bytes = read_file(log());
    std::vector<uint64_t> ends;
    for (uint64_t at = 0; at + kHeaderBytes <= bytes.size();) {
      const auto low = static_cast<uint8_t>(bytes[at + 4]), high = static_cast<uint8_t>(bytes[at + 5]);
      at += kHeaderBytes + low + 256u * high;
      ends.push_back(at);
    }
    EXPECT_EQ(ends.back(), bytes.size()) << "the log has one block, and its records are whole";
    return ends;
  }
  void spoil_last_length() const {
    const std::vector<uint64_t> ends = record_ends();
    std::string bytes = read_file(log());
    bytes[ends.at(ends.size() - 2) + 5] = '\x70';
    write_file(log(), bytes);
  }
  uint64_t middle() const { return record_ends().at(record_ends().size() / 2); }
  // The batches of the last second of a run may be missing in the list of synced logs, but not after a close.
  void expect_loss_of_the_newest(size_t losses) {
    const std::vector<uint64_t> missing = missing_traces();
    ASSERT_FALSE(missing.empty());
    EXPECT_EQ(missing.back(), kBatches);
    EXPECT_EQ(missing.size(), kBatches - missing.front() + 1);
    EXPECT_EQ(rig_.store().losses().size(), losses);
    EXPECT_EQ(counted(), losses) << "the number of batches is not known";
    EXPECT_EQ(set_aside(), losses);
  }
};

TEST_F(RocksShortLog, CutBetweenTwoRecordsIsALossOfTheNewestBatches) {
  fs::resize_file(log(), middle());
  const uint64_t now = rig_.now_unix_nano();
  ASSERT_EQ(rig_.open(), "");
  expect_loss_of_the_newest(1);
  const Loss loss = rig_.store().losses().at(0);
  const uint64_t kept = missing_traces().front() - 1;
  EXPECT_EQ(loss.most_batches, std::nullopt);
  EXPECT_EQ(loss.first_received_unix_nano, now - (kBatches - kept) * kNanosPerSecond);
  EXPECT_GE(loss.last_received_unix_nano, now);
}

TEST_F(RocksShortLog, CutBehindEachRecordIsALossIfABatchWasThere) {
  const std::vector<uint64_t> ends = record_ends();
  for (size_t end = 0; end + 1 < ends.size(); end += 7) {
    SCOPED_TRACE(ends[end]);
    RocksRig rig;
    fs::copy(rig_.path(), rig.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    fs::resize_file(rig.path() + "/store/" + fs::path(log()).filename().string(), ends[end]);
    rig.advance(rig_.now_unix_nano() - rig.now_unix_nano());
    ASSERT_EQ(rig.open(), "");
    EXPECT_EQ(rig.store().losses().size(), 1u);
  }
}

TEST_F(RocksShortLog, CutWithinARecordIsALoss) {
  fs::resize_file(log(), middle() - 3);
  ASSERT_EQ(rig_.open(), "");
  expect_loss_of_the_newest(1);
}

// The last record then looks incomplete.
TEST_F(RocksShortLog, MayHaveALastRecordWithAWrongLength) {
  spoil_last_length();
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(missing_traces(), std::vector<uint64_t>{kBatches});
  EXPECT_EQ(rig_.store().losses().size(), 1u);
}

TEST_F(RocksShortLog, IsReportedOnceAndItsBatchesAreAcceptedAgain) {
  fs::resize_file(log(), middle());
  ASSERT_EQ(rig_.open(), "");
  send_again(missing_traces());
  for (int start = 0; start < 3; ++start) {
    ASSERT_EQ(rig_.reopen(), "");
    EXPECT_TRUE(missing_traces().empty());
    EXPECT_EQ(counted(), 1u);
  }
}

TEST_F(RocksShortLog, IsReportedByVerification) {
  Findings intact;
  ASSERT_TRUE(verify_store(rig_.path(), intact).ok());
  EXPECT_TRUE(intact.intact());
  fs::resize_file(log(), middle());
  Findings findings;
  ASSERT_TRUE(verify_store(rig_.path(), findings).ok());
  ASSERT_EQ(findings.damage_count(), 1u);
  EXPECT_EQ(findings.damages().front().part, "logs");
}

TEST_F(RocksShortLog, IsALossInARepairedDirectory) {
  fs::resize_file(log(), middle());
  TempDirectory directory;
  Findings findings;
  const RepairRequest request{.from = rig_.path(), .to = directory / "new", .read_clocks = rig_.clocks().reader()};
  ASSERT_TRUE(repair_store(request, findings).ok());
  EXPECT_FALSE(findings.intact());
  RocksRig rig;
  fs::copy(directory / "new", rig.path(), fs::copy_options::recursive);
  rig.advance(rig_.now_unix_nano() - rig.now_unix_nano());
  ASSERT_EQ(rig.open(), "");
  EXPECT_TRUE(stored_trace(rig.store(), 1));
  EXPECT_FALSE(stored_trace(rig.store(), kBatches));
  EXPECT_EQ(rig.store().losses().size(), 1u);
}

// A power cut before each change of the first start, each time in another directory.
class RocksShortLogStart : public RocksShortLog {
 protected:
  void expect_losses_in_spite_of_power_cuts(uint64_t missing, size_t losses) {
    for (uint64_t changes = 0;; changes += stride(changes)) {
      SCOPED_TRACE("power cut before change " + std::to_string(changes));
      RocksRig rig;
      fs::copy(rig_.path(), rig.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
      rig.advance(rig_.now_unix_nano() - rig.now_unix_nano());
      rig.disk().crash_after(changes);
      const std::string fault = rig.open();
      const bool is_cut = rig.disk().is_crashed();
      rig.close();
      rig.disk().crash();
      rig.disk().restart(changes % 2 ? std::optional(changes) : std::nullopt);
      ASSERT_EQ(rig.open(), "");
      EXPECT_EQ(missing_in(rig), missing);
      EXPECT_EQ(rig.store().losses().size(), losses);
      if (!is_cut || HasFailure()) return;
    }
  }

 private:
  // The repair is among the first changes.
  static uint64_t stride(uint64_t changes) { return changes < 50 ? 1 : 1 + changes / 4; }
  static uint64_t missing_in(RocksRig& rig) {
    uint64_t missing = 0;
    for (uint64_t trace = 1; trace <= kBatches; ++trace) missing += stored_trace(rig.store(), trace) ? 0 : 1;
    return missing;
  }
};

TEST_F(RocksShortLogStart, SurvivesPowerCutsIfItIsCutBetweenRecords) {
  const std::vector<uint64_t> ends = record_ends();
  fs::resize_file(log(), ends.at(ends.size() - 6));
  expect_losses_in_spite_of_power_cuts(5, 1);
}

TEST_F(RocksShortLogStart, SurvivesPowerCutsIfTheLastLengthIsWrong) {
  spoil_last_length();
  expect_losses_in_spite_of_power_cuts(1, 1);
}

TEST_F(RocksShortLogStart, SurvivesPowerCutsIfItIsDamagedAndCut) {
  const std::vector<uint64_t> ends = record_ends();
  std::string bytes = read_file(log());
  bytes[ends.at(10) + 20] ^= 1;
  bytes[ends.at(10) + 21] ^= 2;
  write_file(log(), bytes.substr(0, ends.at(ends.size() - 6)));
  expect_losses_in_spite_of_power_cuts(6, 2);
}

TEST_F(RocksShortLogStart, SurvivesPowerCutsIfItIsDamagedAsAWhole) {
  write_file(log(), std::string(fs::file_size(log()) / 2, '\0'));
  expect_losses_in_spite_of_power_cuts(kBatches, 1);
}

// The start made a copy, whose size is listed.
TEST_F(RocksShortLog, IsNoticedAfterAStartThatKeptIt) {
  rig_.options().durability = Durability::kOs;
  ASSERT_EQ(rig_.reopen(), "");
  rig_.close();
  fs::resize_file(log(), middle());
  ASSERT_EQ(rig_.open(), "");
  expect_loss_of_the_newest(1);
}

// What is synced is written once per second.
TEST_F(RocksShortLog, IsNoticedAfterAKill) {
  ASSERT_EQ(rig_.open(), "");
  append(kBatches + 1);
  const auto listed = [&] { return read_file(rig_.path() + "/store/synced-logs"); };
  const std::string first = listed();
  append(kBatches + 2);
  ASSERT_TRUE(eventually([&] { return listed() != first; }));
  rig_.disk().crash();
  rig_.close();
  rig_.disk().restart_after_kill();
  const std::vector<uint64_t> ends = record_ends();
  fs::resize_file(log(), ends.at(ends.size() - 2));
  ASSERT_EQ(rig_.open(), "");
  EXPECT_FALSE(stored_trace(rig_.store(), kBatches + 2));
  EXPECT_EQ(rig_.store().losses().size(), 1u);
}

}  // namespace
}  // namespace fathom::store::testing
