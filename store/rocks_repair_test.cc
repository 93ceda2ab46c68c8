// repair_store(): a repaired directory answers as the damaged one did, less what is reported as lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/time.h"
#include "store/testing/damage.h"
#include "store/testing/populated_store.h"
#include "store/verify/repair.h"
#include "store/verify/stored_clock.h"
#include "store/verify/verify.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

uint64_t damaged_of(const Findings& findings, const std::string& part) {
  const auto found = std::ranges::find(findings.parts(), part, &PartCount::part);
  return found == findings.parts().end() ? 0 : found->damaged;
}

std::string all_damages(const Findings& findings) {
  std::string text;
  for (const Damage& damage : findings.damages())
    text += damage.part + ": " + damage.place + ": " + damage.reason + "\n";
  return text;
}

class RocksRepair : public ::testing::Test {
 protected:
  void SetUp() override {
    copy_populated(rig_, /*seed=*/1);
    RocksRig original(populated_options());
    copy_populated(original, /*seed=*/1);
    ASSERT_EQ(original.open(), "");
    expected_ = all_answers(original.store());
    spans_ = original.store().stats().spans_stored;
    ASSERT_TRUE(original.store().settle().ok());
    sealed_spans_ = original.store().stats().spans_stored;
  }

  // A part of the names of the files; the largest with the text.
  std::string table_of(const std::string& family) const {
    std::string largest;
    for (const auto& entry : fs::directory_iterator(rig_.path() + "/store")) {
      const std::string path = entry.path();
      if (!path.ends_with(".sst") || read_file(path).find("name" + family) == std::string::npos) continue;
      if (largest.empty() || fs::file_size(path) > fs::file_size(largest)) largest = path;
    }
    return largest;
  }
  std::string file_like(const std::string& part) const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(rig_.path() + "/store")) {
      if (entry.path().filename().string().find(part) != std::string::npos) found.insert(entry.path());
    }
    return found.empty() ? "" : *found.rbegin();
  }
  std::string content() const {
    for (const auto& entry : fs::recursive_directory_iterator(rig_.path() + "/captures")) {
      if (entry.is_regular_file()) return entry.path();
    }
    return "";
  }

  // The last one, which is not sealed, in a log that has the batches before and after it, too. A batch is known by the
  // trace that ends it.
  void flip_batch_between_others() const {
    for (const auto& entry : fs::directory_iterator(rig_.path() + "/store")) {
      if (entry.path().extension() != ".log") continue;
      const std::string log = read_file(entry.path());
      for (uint64_t trace = 1039; trace > 1035; --trace) {
        const auto at = [&](uint64_t number) { return log.rfind(test_trace_id(number).view()); };
        if (std::max({at(trace - 1), at(trace), at(trace + 1)}) == std::string::npos) continue;
        return flip_bit(entry.path(), 8 * at(trace));
      }
    }
    FAIL() << "no log has three batches";
  }

  RepairRequest request() {
    return {.from = rig_.path(), .to = directory_ / "new", .read_clocks = rig_.clocks().reader()};
  }
  // Repairs into the directory of a second rig, and opens that.
  void repair(Findings& findings) {
    const std::string before = tree_text(rig_.path());
    Result<RepairOutcome> repaired = repair_store(request(), findings);
    ASSERT_TRUE(repaired.ok()) << repaired.error().message;
    EXPECT_EQ(*repaired, RepairOutcome::kRepaired);
    EXPECT_EQ(tree_text(rig_.path()), before) << "the source is not changed";
    Findings intact;
    ASSERT_TRUE(verify_store(request().to, intact).ok());
    EXPECT_EQ(all_damages(intact), "");
    fs::copy(request().to, repaired_.path(), fs::copy_options::recursive);
    repaired_.advance(rig_.now_unix_nano() - repaired_.now_unix_nano());
    ASSERT_EQ(repaired_.open(), "");
  }
  // Every answer about a trace is either complete or lacks spans.
  void expect_lost_at_most(uint64_t spans) {
    EXPECT_LT(repaired_.store().stats().spans_stored, spans_);
    EXPECT_GE(repaired_.store().stats().spans_stored + spans, spans_);
    EXPECT_FALSE(repaired_.store().losses().empty());
    EXPECT_FALSE(all_answers(repaired_.store()).has_errors);
  }

  TempDirectory directory_;
  RocksRig rig_{populated_options()};
  RocksRig repaired_{populated_options()};
  Answers expected_;
  uint64_t spans_ = 0;
  uint64_t sealed_spans_ = 0;  // once sealing has recognized repeated spans that wait in memory
};

constexpr uint64_t kLag = 8 * 24 * kNanosPerHour;

// The wall clock was stepped forward by more than the retention before anything was stored.
class RocksRepairWithLag : public RocksRepair {
 protected:
  void SetUp() override {
    ASSERT_EQ(rig_.open(), "");
    rig_.clocks().step(kLag);
    for (int minute = 0; minute < 120; ++minute) {
      rig_.advance(kNanosPerMinute);
      rig_.store().clock()->observe();
    }
    begin_unix_nano_ = rig_.now_unix_nano();
    populate(rig_, /*seed=*/1, /*with_drop=*/false);
    repaired_.options().read_clocks = rig_.clocks().reader();
    repaired_.options().retention_age_nano = kLag - 24 * kNanosPerHour;
    repaired_.options().maintenance_interval_nano = 1'000'000;
  }
  void expect_all_kept() {
    EXPECT_EQ(repaired_.store().clock()->now() + kLag, rig_.now_unix_nano()) << "the age time does not jump";
    expect_none_dropped();
  }
  void expect_none_dropped() {
    ASSERT_TRUE(repaired_.store().settle().ok());
    const uint64_t spans = repaired_.store().stats().spans_stored;
    const uint64_t before = rig_.clocks().readings();
    ASSERT_TRUE(eventually([&] { return rig_.clocks().readings() >= before + 20; }));
    EXPECT_EQ(repaired_.store().stats().spans_stored, spans);
    EXPECT_GT(spans, 100u);
    EXPECT_EQ(repaired_.store().captures().stats().captures, 4u);
  }
  // After a boot, when only the stored data says how old it is.
  void expect_new_clock() {
    rig_.clocks().reboot(kNanosPerMinute);
    Findings findings;
    repair(findings);
    EXPECT_TRUE(stored_age_state(request().to)) << "the new directory has a clock";
    for (int minute = 0; minute < 120; ++minute) {
      rig_.advance(kNanosPerMinute);
      repaired_.store().clock()->observe();
    }
    expect_none_dropped();
  }
  void expect_of_this_run(uint64_t from_unix_nano, uint64_t to_unix_nano) {
    EXPECT_LT(from_unix_nano, to_unix_nano);
    EXPECT_GE(from_unix_nano, begin_unix_nano_);
    EXPECT_LE(to_unix_nano, rig_.now_unix_nano() + 2 * kNanosPerMinute);
  }

  uint64_t begin_unix_nano_ = 0;
};

TEST_F(RocksRepairWithLag, SegmentsWithoutARecordAreNotDropped) {
  flip_bit(table_of("segment"), 100);
  Findings findings;
  repair(findings);
  EXPECT_FALSE(findings.intact());
  expect_all_kept();
}

TEST_F(RocksRepairWithLag, LossesAreReportedInUnixTime) {
  flip_bit(table_of("block"), 4000);
  flip_batch_between_others();
  Findings verified, findings;
  ASSERT_TRUE(verify_store(rig_.path(), verified).ok());
  repair(findings);
  for (const Findings* found : {&verified, &findings}) {
    EXPECT_FALSE(found->intact());
    for (const Damage& damage : found->damages()) {
      const std::optional<TimeRange>& received = damage.affected.received;
      if (received) expect_of_this_run(received->from_unix_nano, received->to_unix_nano);
    }
  }
  EXPECT_EQ(repaired_.store().losses().size(), 2u);
  for (const Loss& loss : repaired_.store().losses()) {
    expect_of_this_run(loss.first_received_unix_nano, loss.last_received_unix_nano);
    EXPECT_EQ(loss.found_unix_nano, rig_.now_unix_nano());
  }
  expect_all_kept();
}

TEST_F(RocksRepairWithLag, AMissingClockIsMadeAnewAndNothingIsDropped) {
  fs::remove(rig_.path() + "/clock");
  expect_new_clock();
}

TEST_F(RocksRepairWithLag, ADamagedClockIsMadeAnewAndNothingIsDropped) {
  write_file(rig_.path() + "/clock", "damage");
  expect_new_clock();
}

TEST(RocksRepairVersions, AnOlderDirectoryKeepsUnixTimes) {
  TempDirectory directory;
  fs::copy(FATHOM_TESTDATA "/data-v6", directory / "data", fs::copy_options::recursive);
  Findings findings;
  ASSERT_TRUE(repair_store({.from = directory / "data", .to = directory / "new"}, findings).ok());
  EXPECT_TRUE(must_have_clock(directory / "new"));
  EXPECT_TRUE(has_unix_stamps(directory / "new"));
}

TEST_F(RocksRepair, AnIntactDirectoryKeepsAllAnswers) {
  Findings findings;
  repair(findings);
  EXPECT_EQ(all_damages(findings), "");
  EXPECT_EQ(all_answers(repaired_.store()).texts, expected_.texts);
  EXPECT_TRUE(repaired_.store().losses().empty());
  ASSERT_TRUE(repaired_.store().settle().ok());
  EXPECT_EQ(repaired_.store().stats().spans_unsealed, 0u);
}

TEST_F(RocksRepair, DamageToIndexesCostsNothing) {
  for (const char* family : {"trace", "slow"}) flip_bit(table_of(family), 800);
  Findings findings;
  repair(findings);
  EXPECT_EQ(all_answers(repaired_.store()).texts, expected_.texts);
}

TEST_F(RocksRepair, ADamagedManifestCostsNothing) {
  flip_bit(file_like("MANIFEST"), fs::file_size(file_like("MANIFEST")) * 4);
  Findings findings;
  repair(findings);
  EXPECT_EQ(all_answers(repaired_.store()).texts, expected_.texts);
  EXPECT_FALSE(fs::exists(request().to + "/scratch"));
}

TEST_F(RocksRepair, AMissingCurrentCostsNothing) {
  fs::remove(rig_.path() + "/store/CURRENT");
  Findings findings;
  repair(findings);
  EXPECT_EQ(all_answers(repaired_.store()).texts, expected_.texts);
}

TEST_F(RocksRepair, ADamagedBlockCostsItsSpans) {
  flip_bit(table_of("block"), 4000);
  Findings findings;
  repair(findings);
  ASSERT_EQ(damaged_of(findings, "spans"), 1u);
  expect_lost_at_most(findings.damages().front().affected.spans);
}

TEST_F(RocksRepair, AMissingFileCostsItsSpans) {
  fs::remove(table_of("block"));
  Findings findings;
  repair(findings);
  ASSERT_EQ(damaged_of(findings, "spans"), 1u) << all_damages(findings);
  expect_lost_at_most(findings.damages().front().affected.spans);
}

// Its blocks say what it said.
TEST_F(RocksRepair, ADamagedSegmentRecordCostsNoSpan) {
  flip_bit(table_of("segment"), 100);
  Findings findings;
  repair(findings);
  // The blocks do not show the sequence of a last batch that only repeated spans. Its spans may wait in memory once
  // more, until sealing recognizes them.
  ASSERT_TRUE(repaired_.store().settle().ok());
  EXPECT_EQ(repaired_.store().stats().spans_stored, sealed_spans_);
}

TEST_F(RocksRepair, ADamagedLogCostsABatch) {
  flip_batch_between_others();
  Findings findings;
  repair(findings);
  EXPECT_EQ(damaged_of(findings, "stage"), 1u) << all_damages(findings);
  expect_lost_at_most(80);
  ASSERT_EQ(repaired_.store().losses().size(), 1u);
  EXPECT_EQ(repaired_.store().losses().front().most_batches, 1u);
}

TEST_F(RocksRepair, ADamagedContentCostsItsCapture) {
  flip_bit(content(), 800);
  Findings findings;
  repair(findings);
  EXPECT_EQ(damaged_of(findings, "captures"), 1u);
  EXPECT_EQ(repaired_.store().captures().stats().captures, 3u);
  EXPECT_EQ(repaired_.store().captures().stats().damaged, 0u);
}

TEST_F(RocksRepair, AFinishedDirectoryIsRecognised) {
  Findings findings;
  repair(findings);
  const std::string before = tree_text(request().to);
  Findings again;
  Result<RepairOutcome> repaired = repair_store(request(), again);
  ASSERT_TRUE(repaired.ok());
  EXPECT_EQ(*repaired, RepairOutcome::kWasRepaired);
  EXPECT_EQ(tree_text(request().to), before);
}

TEST_F(RocksRepair, AnInterruptedRepairBeginsAnew) {
  RepairRequest interrupted = request();
  interrupted.copy_more = [](const std::string&, Findings&) -> Result<> { return unavailable("no room"); };
  Findings first;
  ASSERT_FALSE(repair_store(interrupted, first).ok());
  EXPECT_FALSE(fs::exists(request().to));
  EXPECT_TRUE(fs::exists(request().to + ".unfinished"));
  Findings findings;
  repair(findings);
  EXPECT_EQ(all_answers(repaired_.store()).texts, expected_.texts);
  EXPECT_FALSE(fs::exists(request().to + ".unfinished"));
}

TEST_F(RocksRepair, RemovesNothingThatNoRepairMade) {
  fs::create_directories(request().to + ".unfinished");
  write_file(request().to + ".unfinished/mine", "text");
  Findings findings;
  EXPECT_FALSE(repair_store(request(), findings).ok());
  EXPECT_TRUE(fs::exists(request().to + ".unfinished/mine"));
  fs::create_directories(request().to);
  write_file(request().to + "/mine", "text");
  EXPECT_FALSE(repair_store(request(), findings).ok());
  EXPECT_TRUE(fs::exists(request().to + "/mine"));
}

TEST_F(RocksRepair, RejectsANewerFormatByName) {
  write_file(rig_.path() + "/version", "8\n");
  Findings findings;
  const Result<RepairOutcome> repaired = repair_store(request(), findings);
  ASSERT_FALSE(repaired.ok());
  EXPECT_EQ(repaired.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(repaired.error().message.find("newer fathom (format 8"), std::string::npos) << repaired.error().message;
  EXPECT_FALSE(fs::exists(request().to));
  EXPECT_FALSE(fs::exists(request().to + ".unfinished"));
}

TEST_F(RocksRepair, SalvagesADirectoryWhoseVersionIsDamaged) {
  write_file(rig_.path() + "/version", "6\n");
  Findings findings;
  repair(findings);
  EXPECT_EQ(all_answers(repaired_.store()).texts, expected_.texts);
}

TEST_F(RocksRepair, RejectsAnUnfinishedRevert) {
  fs::create_directories(rig_.path() + "/reverting/store");
  Findings findings;
  const Result<RepairOutcome> repaired = repair_store(request(), findings);
  ASSERT_FALSE(repaired.ok());
  EXPECT_NE(repaired.error().message.find("fathom-server revert-upgrade " + rig_.path()), std::string::npos)
      << repaired.error().message;
  EXPECT_FALSE(fs::exists(request().to));
}

TEST_F(RocksRepair, RejectsADirectoryInsideTheOther) {
  const std::string outer = fs::path(rig_.path()).parent_path(), link = directory_ / "link";
  fs::create_directory_symlink(rig_.path(), link);
  write_file(outer + "/repaired-from", "as if a repair had made it\n");
  const std::string before = tree_text(rig_.path());
  const std::string& path = rig_.path();
  for (const std::string& to : {path + "/new", path + "/captures/a/b", path, path + "/", link + "/new", outer,
                                path + "/../" + fs::path(path).filename().string() + "/new"}) {
    Findings findings;
    const Result<RepairOutcome> repaired = repair_store({.from = path, .to = to}, findings);
    ASSERT_FALSE(repaired.ok()) << to;
    EXPECT_EQ(repaired.error().code, ErrorCode::kInvalid);
    EXPECT_NE(repaired.error().message.find("choose a new directory outside of"), std::string::npos)
        << repaired.error().message;
  }
  EXPECT_EQ(tree_text(path), before);
}

// The new directory is made as NEW_DIR.unfinished, which replaces one that a repair left.
TEST_F(RocksRepair, RejectsTheNameThatItWouldReplace) {
  const std::string from = directory_ / "data.unfinished";
  fs::copy(rig_.path(), from, fs::copy_options::recursive);
  write_file(from + "/repaired-from", "another\n");
  Findings findings;
  EXPECT_FALSE(repair_store({.from = from, .to = directory_ / "data"}, findings).ok());
  EXPECT_TRUE(fs::exists(from + "/version"));
}

TEST_F(RocksRepair, StatesTheSpaceThatItNeeds) {
  Result<RepairSpace> space = repair_space(request());
  ASSERT_TRUE(space.ok());
  Findings findings;
  repair(findings);
  uint64_t used = 0;
  for (const auto& entry : fs::recursive_directory_iterator(request().to)) {
    if (entry.is_regular_file()) used += entry.file_size();
  }
  EXPECT_GE(space->needed_bytes, used);
  EXPECT_GT(space->free_bytes, 0u);
}

}  // namespace
}  // namespace fathom::store::testing
