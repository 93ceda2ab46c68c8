// repair_store() into a directory that a repair made: the same source is recognized, another one is rejected.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "store/testing/damage.h"
#include "store/testing/populated_store.h"
#include "store/verify/repair.h"
#include "store/verify/repair_mark.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

class RocksRepairAgain : public ::testing::Test {
 protected:
  void SetUp() override { copy_populated(rig_, /*seed=*/1); }

  std::string to() const { return directory_ / "new"; }
  std::string mark() const { return to() + "/repaired-from"; }
  Result<RepairOutcome> repair(const std::string& from) {
    Findings findings;
    return repair_store({.from = from, .to = to(), .read_clocks = rig_.clocks().reader()}, findings);
  }
  void expect_outcome(const std::string& from, RepairOutcome expected) {
    const Result<RepairOutcome> outcome = repair(from);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    EXPECT_EQ(*outcome, expected);
  }
  // Nothing is changed, and the error names the fix and `named`.
  void expect_rejected(const std::string& from, const std::string& named) {
    const std::string before = tree_text(to());
    const Result<RepairOutcome> outcome = repair(from);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, ErrorCode::kInvalid);
    for (const std::string& part : {to(), named, std::string("choose another, empty NEW_DIR")}) {
      EXPECT_NE(outcome.error().message.find(part), std::string::npos) << outcome.error().message;
    }
    EXPECT_EQ(tree_text(to()), before);
  }
  std::string content() const {
    for (const auto& entry : fs::recursive_directory_iterator(rig_.path() + "/captures")) {
      if (entry.is_regular_file()) return entry.path();
    }
    return "";
  }

  TempDirectory directory_;
  RocksRig rig_{populated_options()};
};

TEST_F(RocksRepairAgain, TheSameSourceIsRecognizedByAnyOfItsNames) {
  expect_outcome(rig_.path(), RepairOutcome::kRepaired);
  const std::string before = tree_text(to());
  fs::create_directory_symlink(rig_.path(), directory_ / "link");
  for (const std::string& from : {rig_.path(), rig_.path() + "/", rig_.path() + "/store/..", directory_ / "link"}) {
    expect_outcome(from, RepairOutcome::kWasRepaired);
  }
  EXPECT_EQ(tree_text(to()), before);
}

TEST_F(RocksRepairAgain, ALossIsReportedAgain) {
  flip_bit(content(), 800);
  expect_outcome(rig_.path(), RepairOutcome::kRepaired);
  expect_outcome(rig_.path(), RepairOutcome::kWasRepairedWithLoss);
}

TEST_F(RocksRepairAgain, ALossOfOtherFilesIsReportedAgain) {
  Findings findings;
  RepairRequest request{.from = rig_.path(), .to = to(), .read_clocks = rig_.clocks().reader()};
  request.copy_more = [](const std::string&, Findings& found) -> Result<> {
    found.damaged({"snapshots", "a file", "its hash is wrong"});
    return {};
  };
  ASSERT_TRUE(repair_store(request, findings).ok());
  expect_outcome(rig_.path(), RepairOutcome::kWasRepairedWithLoss);
}

TEST_F(RocksRepairAgain, ACopyOfTheSourceIsRejected) {
  const std::string copy = directory_ / "copy";
  fs::copy(rig_.path(), copy, fs::copy_options::recursive);
  expect_outcome(rig_.path(), RepairOutcome::kRepaired);
  expect_rejected(copy, "was repaired from " + fs::canonical(rig_.path()).string() + ", not from " + copy);
}

TEST_F(RocksRepairAgain, AnotherSourceUnderTheSameNameIsRejected) {
  const std::string from = directory_ / "data";
  fs::copy(rig_.path(), from, fs::copy_options::recursive);
  expect_outcome(from, RepairOutcome::kRepaired);
  write_file(from + "/store/IDENTITY", "another database");
  expect_rejected(from, "has changed since, or was replaced");
}

TEST_F(RocksRepairAgain, ASourceThatAServerUsedSinceIsRejected) {
  expect_outcome(rig_.path(), RepairOutcome::kRepaired);
  ASSERT_EQ(rig_.open(), "");
  rig_.close();
  expect_rejected(rig_.path(), "has changed since, or was replaced");
}

TEST_F(RocksRepairAgain, AMarkOfAnOlderProgramNamesItsSource) {
  expect_outcome(rig_.path(), RepairOutcome::kRepaired);
  write_file(mark(),
             fs::path(rig_.path()).parent_path().string() + "/./" + fs::path(rig_.path()).filename().string() + "\n");
  expect_outcome(rig_.path(), RepairOutcome::kWasRepairedByOlderProgram);
  write_file(mark(), "/srv/another\n");
  expect_rejected(rig_.path(), "was repaired from /srv/another, not from ");
}

TEST_F(RocksRepairAgain, ADamagedMarkIsRejected) {
  expect_outcome(rig_.path(), RepairOutcome::kRepaired);
  for (const uint64_t bit : {8ULL, 8ULL * 20, 8ULL * 60}) {
    flip_bit(mark(), bit);
    expect_rejected(rig_.path(), "repaired-from is damaged");
    flip_bit(mark(), bit);
  }
  write_file(mark(), "");
  expect_rejected(rig_.path(), "repaired-from is damaged");
}

// Somebody renamed what an interrupted repair left.
TEST_F(RocksRepairAgain, AnUnfinishedDirectoryIsRejectedUnderTheFinalName) {
  RepairRequest request{.from = rig_.path(), .to = to(), .read_clocks = rig_.clocks().reader()};
  request.copy_more = [](const std::string&, Findings&) -> Result<> { return unavailable("no room"); };
  Findings findings;
  ASSERT_FALSE(repair_store(request, findings).ok());
  fs::rename(to() + ".unfinished", to());
  expect_rejected(rig_.path(), "did not finish");
}

// A disk that notes what is synced before the directory has its name.
class RocksRepairSync : public RocksRepairAgain {
 protected:
  RepairRequest request() {
    RepairRequest request{.from = rig_.path(), .to = to(), .read_clocks = rig_.clocks().reader()};
    request.copy_more = [](const std::string& path, Findings&) -> Result<> {
      fs::create_directories(path + "/server-snapshots/images");
      write_file(path + "/server-snapshots/images/one", "an image");
      return {};
    };
    request.sync = [this](const std::string& path) -> Result<> {
      if (path.ends_with(failing_)) return internal("the test's disk fails to sync " + path);
      synced_.insert((fs::exists(to()) ? "after " : "") + fs::relative(path, to() + ".unfinished").string());
      return {};
    };
    return request;
  }

  std::string failing_ = "none";
  std::set<std::string> synced_;
};

TEST_F(RocksRepairSync, EverythingIsSyncedBeforeTheDirectoryHasItsName) {
  Findings findings;
  ASSERT_TRUE(repair_store(request(), findings).ok());
  std::set<std::string> expected{".", "after .."};
  for (const auto& entry : fs::recursive_directory_iterator(to())) {
    expected.insert(fs::relative(entry.path(), to()));
  }
  EXPECT_TRUE(expected.contains("server-snapshots/images/one"));
  EXPECT_EQ(synced_, expected);
}

TEST_F(RocksRepairSync, AFailedSyncFailsTheRepair) {
  for (const char* failing : {"images/one", "/images", "/server-snapshots", ".unfinished"}) {
    failing_ = failing;
    Findings findings;
    EXPECT_FALSE(repair_store(request(), findings).ok()) << failing;
    EXPECT_FALSE(fs::exists(to())) << failing;
  }
}

// The form on the disk, which must stay readable.
TEST(RepairMark, IsATextWithAHash) {
  TempDirectory directory;
  write_file(directory / "repaired-from",
             "version 2\nstate loss\nfiles 00ff\nsource /var/lib/two\nlines\n"
             "sha256 f5ae075161c23214af56232b532bfef8b5d6a12265a611f9e564f59af57a640c\n");
  const RepairMark expected{{"/var/lib/two\nlines", "00ff"}, RepairMark::State::kLoss};
  Result<RepairMark> mark = RepairMark::read(directory.path());
  ASSERT_TRUE(mark.ok()) << mark.error().message;
  EXPECT_EQ(mark->source, expected.source);
  EXPECT_EQ(mark->state, expected.state);
  const std::string before = read_file(directory / "repaired-from");
  ASSERT_TRUE(expected.write(directory.path()).ok());
  EXPECT_EQ(read_file(directory / "repaired-from"), before);
}

}  // namespace
}  // namespace fathom::store::testing
