// Upgrades can be reverted until they are committed, byte by byte, also when a crash interrupts the upgrade or the
// revert.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/text.h"
#include "base/time.h"
#include "store/rocks/upgrade_backup.h"
#include "store/rocks/upgrade_keeper.h"
#include "store/testing/rocks_rig.h"
#include "store/verify/verify.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;  // content by path

// Stops before a step as a crash would, after so many steps.
class Stop {
 public:
  explicit Stop(size_t after) : left_(after) {}
  AtStep at_step() {
    return [this](const std::string& step) {
      steps_.push_back(step);
      return left_-- > 0;
    };
  }
  const std::vector<std::string>& steps() const { return steps_; }

 private:
  size_t left_;
  std::vector<std::string> steps_;
};

class RocksUpgrade : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    faulty_disk_ = std::exchange(rig_.options().env, nullptr);
    fs::copy(std::string(FATHOM_TESTDATA) + "/data-v" + std::to_string(GetParam()), rig_.path(),
             fs::copy_options::recursive);
    fs::create_directories(rig_.path() + "/captures/a");
    std::ofstream(rig_.path() + "/tracepoint-rules") << "rules of the older version";
    original_ = files();
  }
  // Of all that is data; without what each start of RocksDB makes.
  Files files() const {
    Files found;
    for (const auto& entry : fs::recursive_directory_iterator(rig_.path())) {
      const std::string name = entry.path().filename();
      if (!entry.is_regular_file() || name == "LOCK" || name.starts_with("LOG") || name == "ballast") continue;
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      found[fs::relative(entry.path(), rig_.path())] = text.str();
    }
    return found;
  }
  std::string read(const std::string& name) const {
    std::string text;
    std::ifstream(rig_.path() + "/" + name) >> text;
    return text;
  }
  void use() {
    ASSERT_EQ(rig_.open(), "");
    EXPECT_EQ(read("version"), "7");
    ASSERT_EQ(append_once(rig_.store(), make_batch({test_span(77, 1, 0, 10)})).outcome, AppendOutcome::kDurable);
    ASSERT_TRUE(rig_.store().settle().ok());
    std::ofstream(rig_.path() + "/tracepoint-rules") << "rules of the newer version";
    std::ofstream(rig_.path() + "/captures/a/new") << "a capture of the newer version";
    rig_.close();
  }
  void expect_reverted() {
    const Files now = files();
    for (const auto& [name, content] : original_) {
      ASSERT_TRUE(now.contains(name)) << name;
      EXPECT_TRUE(now.at(name) == content) << name;
    }
    for (const auto& [name, content] : now) EXPECT_TRUE(original_.contains(name)) << name;
    EXPECT_FALSE(pending_upgrade(rig_.path()));
  }

  RocksRig rig_;
  rocksdb::Env* faulty_disk_ = nullptr;  // for tests of a full disk
  Files original_;
};

class RocksUpgradeOfEach : public RocksUpgrade {};

TEST_P(RocksUpgradeOfEach, IsRevertedToEveryByte) {
  use();
  const std::optional<PendingUpgrade> upgrade = pending_upgrade(rig_.path());
  ASSERT_TRUE(upgrade);
  EXPECT_EQ(upgrade->from, GetParam());
  EXPECT_EQ(upgrade->to, 7);
  EXPECT_NE(describe_revert(rig_.path(), *upgrade).find("is lost"), std::string::npos);
  Result<> reverted = revert_upgrade(rig_.path());
  ASSERT_TRUE(reverted.ok()) << reverted.error().message;
  expect_reverted();
  EXPECT_EQ(revert_upgrade(rig_.path()).error().code, ErrorCode::kNotFound);
  ASSERT_EQ(rig_.open(), "") << "and upgraded again";
  EXPECT_FALSE(stored_trace(rig_.store(), 77));
}

TEST_P(RocksUpgrade, ThatIsInterruptedBeginsAnew) {
  size_t steps = 1;
  for (size_t after = 0; after < steps; ++after) {
    SCOPED_TRACE(after);
    Stop stop(after);
    const Result<> begun = begin_upgrade(rig_.path(), GetParam(), 6, kTestNow, stop.at_step());
    if (begun.ok()) break;
    steps = after + 2;
    EXPECT_EQ(read("version"), std::to_string(GetParam()));
    EXPECT_FALSE(pending_upgrade(rig_.path())) << "after " << stop.steps().back();
    use();
    ASSERT_TRUE(revert_upgrade(rig_.path()).ok());
    expect_reverted();
  }
  EXPECT_GT(steps, 3u);
}

TEST_P(RocksUpgrade, WhoseRevertIsInterruptedIsRevertedLater) {
  size_t steps = 1;
  for (size_t after = 0; after < steps; ++after) {
    SCOPED_TRACE(after);
    use();
    Stop stop(after);
    if (revert_upgrade(rig_.path(), stop.at_step()).ok()) break;
    steps = after + 2;
    Result<std::unique_ptr<RocksStore>> opened = RocksStore::open(rig_.options());
    ASSERT_FALSE(opened.ok()) << "after " << stop.steps().back();
    EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(opened.error().message.find("revert-upgrade"), std::string::npos) << opened.error().message;
    Result<> reverted = revert_upgrade(rig_.path());
    ASSERT_TRUE(reverted.ok()) << reverted.error().message;
    expect_reverted();
  }
  EXPECT_GT(steps, 5u);
}

TEST_P(RocksUpgrade, IsCommittedByCommand) {
  use();
  ASSERT_TRUE(commit_upgrade(rig_.path()).ok());
  EXPECT_FALSE(fs::exists(rig_.path() + "/before-upgrade"));
  EXPECT_EQ(revert_upgrade(rig_.path()).error().code, ErrorCode::kNotFound);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_TRUE(stored_trace(rig_.store(), 77));
}

TEST_P(RocksUpgrade, IsCommittedAfterItsTimeOfRunningOverRestarts) {
  use();
  const DiskSpace much{.free_bytes = 1 << 30, .reserve_bytes = 0};
  const uint64_t day = 24 * kNanosPerHour;
  for (int start = 0; start < 3; ++start) {
    const uint64_t begin = now_monotonic_nano();
    UpgradeKeeper keeper(rig_.path(), day);
    keeper.look(much, begin + 7 * kNanosPerHour);
    ASSERT_TRUE(pending_upgrade(rig_.path()));
    EXPECT_GE(pending_upgrade(rig_.path())->ran_nano, (static_cast<uint64_t>(start) + 1) * 6 * kNanosPerHour);
  }
  UpgradeKeeper keeper(rig_.path(), day);
  keeper.look(much, now_monotonic_nano() + 5 * kNanosPerHour);
  EXPECT_FALSE(pending_upgrade(rig_.path()));
}

// Before writes, captures or snapshots are refused.
TEST_P(RocksUpgrade, IsGivenUpOnAFullDiskBeforeAnythingIsRefused) {
  use();
  ASSERT_TRUE(pending_upgrade(rig_.path()));
  rig_.options().reserve_disk_bytes = 1 << 20;
  rig_.options().env = faulty_disk_;
  ASSERT_EQ(rig_.open(), "");
  const DiskSpace low{.free_bytes = 5 << 19, .reserve_bytes = 1 << 20};
  ASSERT_TRUE(low.has_room_for_capture(0));
  rig_.disk().set_free_bytes(low.free_bytes);
  EXPECT_TRUE(eventually([&] { return !pending_upgrade(rig_.path()); }));
  EXPECT_TRUE(rig_.store().stats().writable);
}

TEST_P(RocksUpgrade, GoesOnWithoutABackupOnADiskThatIsNearlyFull) {
  rig_.options().reserve_disk_bytes = 1 << 20;
  rig_.options().env = faulty_disk_;
  rig_.disk().set_free_bytes(2 << 20);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(read("version"), "7");
  EXPECT_FALSE(pending_upgrade(rig_.path()));
}

// A revert removes whatever its manifest does not list, so it checks everything before it removes anything.
class RocksUpgradeDamage : public RocksUpgrade {
 protected:
  void SetUp() override {
    RocksUpgrade::SetUp();
    use();
    std::ostringstream text;
    text << std::ifstream(manifest()).rdbuf();
    intact_ = text.str();
    before_ = files();
  }
  std::string manifest() const { return rig_.path() + "/before-upgrade/upgrade"; }
  void write(const std::string& text) const { std::ofstream(manifest(), std::ios::trunc) << text; }
  std::string without_hash() const { return intact_.substr(0, intact_.find("sha256 ")); }
  void move(const std::string& from, const std::string& to) const {
    fs::rename(rig_.path() + "/" + from, rig_.path() + "/" + to);
  }
  void expect_rejected(const std::string& words) {
    const Result<> reverted = revert_upgrade(rig_.path());
    ASSERT_FALSE(reverted.ok());
    EXPECT_EQ(reverted.error().code, ErrorCode::kCorrupt) << reverted.error().message;
    EXPECT_NE(reverted.error().message.find(words), std::string::npos) << reverted.error().message;
    EXPECT_NE(reverted.error().message.find("Restore"), std::string::npos) << reverted.error().message;
    EXPECT_FALSE(check_backup(rig_.path()).ok());
  }
  void expect_unchanged_and_revertible() {
    write(intact_);
    EXPECT_TRUE(files() == before_);
    ASSERT_TRUE(check_backup(rig_.path()).ok());
    ASSERT_TRUE(revert_upgrade(rig_.path()).ok());
    expect_reverted();
  }

  std::string intact_;
  Files before_;
};

TEST_P(RocksUpgradeDamage, OfAnyBitOfTheManifestIsFound) {
  for (size_t bit = 0; bit < 8 * intact_.size(); ++bit) {
    std::string text = intact_;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    write(text);
    const Result<> reverted = revert_upgrade(rig_.path());
    ASSERT_FALSE(reverted.ok()) << "bit " << bit;
    ASSERT_EQ(reverted.error().code, ErrorCode::kCorrupt) << reverted.error().message;
    ASSERT_NE(reverted.error().message.find("fathom-server commit-upgrade " + rig_.path()), std::string::npos);
  }
  expect_unchanged_and_revertible();
}

TEST_P(RocksUpgradeDamage, OfAManifestThatIsCutOffIsFound) {
  for (size_t bytes = 0; bytes < intact_.size(); ++bytes) {
    if (bytes == without_hash().size()) continue;  // as older programs wrote it
    write(intact_.substr(0, bytes));
    ASSERT_FALSE(revert_upgrade(rig_.path()).ok()) << bytes << " bytes";
  }
  fs::remove(manifest());
  expect_rejected("before-upgrade/upgrade");
  expect_unchanged_and_revertible();
}

TEST_P(RocksUpgradeDamage, OfAManifestWithoutAHashIsFound) {
  const std::string text = without_hash();
  const std::string from = "from " + std::to_string(GetParam());
  const std::pair<std::string, std::string> damages[] = {{"part store", "part stora"},
                                                         {"part store\n", ""},
                                                         {"part captures\n", ""},
                                                         {"part", "pard"},
                                                         {from, "from 7"},
                                                         {from, "from 0"},
                                                         {from, "from x"},
                                                         {"end", "enf"}};
  for (const auto& [right, wrong] : damages) {
    SCOPED_TRACE(wrong);
    std::string damaged = text;
    write(damaged.replace(damaged.find(right), right.size(), wrong));
    expect_rejected("before-upgrade");
  }
  expect_unchanged_and_revertible();
}

TEST_P(RocksUpgradeDamage, IsNoneInAManifestOfAnOlderProgram) {
  write(without_hash());
  ASSERT_TRUE(pending_upgrade(rig_.path()));
  ASSERT_TRUE(note_running(rig_.path(), 5).ok()) << "which adds the hash";
  EXPECT_EQ(pending_upgrade(rig_.path())->ran_nano, 5u);
  write(without_hash());
  ASSERT_TRUE(revert_upgrade(rig_.path()).ok());
  expect_reverted();
}

TEST_P(RocksUpgradeDamage, ThatLostAPartIsFound) {
  for (const std::string part : {"store", "captures", "tracepoint-rules"}) {
    SCOPED_TRACE(part);
    move("before-upgrade/" + part, "lost");
    expect_rejected("before-upgrade/" + part + " is missing");
    move("lost", "before-upgrade/" + part);
  }
  expect_unchanged_and_revertible();
}

TEST_P(RocksUpgradeDamage, ThatLostAFileIsFound) {
  const std::string store = rig_.path() + "/before-upgrade/store";
  std::vector<fs::path> kept;
  for (const auto& entry : fs::directory_iterator(store)) kept.push_back(entry.path());
  ASSERT_GT(kept.size(), 3u);
  for (const fs::path& file : kept) {
    SCOPED_TRACE(file);
    fs::rename(file, rig_.path() + "/lost");
    expect_rejected(file.string() + " is missing");
    fs::rename(rig_.path() + "/lost", file);
  }
  expect_unchanged_and_revertible();
}

TEST_P(RocksUpgradeDamage, ThatCutOffAFileIsFound) {
  for (const auto& entry : fs::directory_iterator(rig_.path() + "/before-upgrade/store")) {
    const std::string path = entry.path();
    if (path.ends_with(".sst")) continue;  // the newer store has it, too
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    if (bytes.str().empty()) continue;
    fs::resize_file(path, bytes.str().size() - 1);
    expect_rejected(path + " has " + plural(bytes.str().size() - 1, "byte") + " instead of");
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes.str();
  }
  expect_unchanged_and_revertible();
}

TEST_P(RocksUpgradeDamage, OfTheListOfFilesIsFound) {
  const std::string list = rig_.path() + "/before-upgrade/files";
  std::ostringstream bytes;
  bytes << std::ifstream(list, std::ios::binary).rdbuf();
  std::ofstream(list, std::ios::binary | std::ios::trunc) << bytes.str().substr(1);
  expect_rejected(list + " is damaged");
  std::ofstream(list, std::ios::binary | std::ios::trunc) << bytes.str();
  expect_unchanged_and_revertible();
}

// After each step of the revert.
TEST_P(RocksUpgradeDamage, ThatLostAPartIsFoundWhileItIsReverted) {
  const std::vector<std::string> parts = {"store", "captures", "tracepoint-rules"};
  size_t lost = 0;
  for (size_t after = 0; after < 8; ++after) {
    Stop stop(after);
    if (revert_upgrade(rig_.path(), stop.at_step()).ok()) break;
    for (const std::string& part : parts) {
      if (!fs::exists(rig_.path() + "/reverting/" + part)) continue;
      SCOPED_TRACE(part + " after " + stop.steps().back());
      move("reverting/" + part, "lost");
      expect_rejected("reverting/" + part + " is missing");
      move("lost", "reverting/" + part);
      ++lost;
    }
    ASSERT_TRUE(revert_upgrade(rig_.path()).ok());
    expect_reverted();
    use();
  }
  EXPECT_EQ(lost, 3u + 2u + 1u + 1u);  // DIR/server-snapshots, which comes before the rules, is not listed
}

TEST_P(RocksUpgradeDamage, IsNoneWhereAnOlderProgramsRevertWasInterrupted) {
  write(without_hash());
  Stop stop(2);
  ASSERT_FALSE(revert_upgrade(rig_.path(), stop.at_step()).ok());
  for (const char* part : {"store", "captures"}) fs::remove(rig_.path() + "/reverting/" + part + ".removed");
  ASSERT_TRUE(check_backup(rig_.path()).ok());
  ASSERT_TRUE(revert_upgrade(rig_.path()).ok());
  expect_reverted();
}

TEST_P(RocksUpgradeDamage, OfAnOlderProgramsRevertThatLostTheStoreIsFound) {
  write(without_hash());
  Stop stop(0);
  ASSERT_FALSE(revert_upgrade(rig_.path(), stop.at_step()).ok());
  move("reverting/store", "lost");
  expect_rejected("reverting/store is missing");
  move("lost", "reverting/store");
  ASSERT_TRUE(revert_upgrade(rig_.path()).ok());
  expect_reverted();
}

TEST_P(RocksUpgradeDamage, OfAPartThatWasRestoredIsFound) {
  Stop stop(1);
  ASSERT_FALSE(revert_upgrade(rig_.path(), stop.at_step()).ok());
  move("store", "lost");
  expect_rejected("reverting/store is missing");
  move("lost", "store");
  ASSERT_TRUE(revert_upgrade(rig_.path()).ok());
  expect_reverted();
}

TEST_P(RocksUpgradeDamage, IsReportedByVerify) {
  Findings intact;
  ASSERT_TRUE(verify_store(rig_.path(), intact).ok());
  EXPECT_TRUE(intact.intact());
  EXPECT_EQ(intact.notes().size(), 1u) << "the parts of the backup are not checked";
  std::string text = intact_;
  text[text.find("store")] ^= 1;
  write(text);
  Findings damaged;
  ASSERT_TRUE(verify_store(rig_.path(), damaged).ok());
  ASSERT_EQ(damaged.damage_count(), 1u);
  EXPECT_EQ(damaged.damages().front().part, "upgrade backup");
  EXPECT_NE(damaged.damages().front().reason.find("commit-upgrade"), std::string::npos);
}

TEST_P(RocksUpgradeDamage, IsReportedByVerifyWhileItIsReverted) {
  Stop stop(0);
  ASSERT_FALSE(revert_upgrade(rig_.path(), stop.at_step()).ok());
  const std::string fix = "finish the revert: fathom-server revert-upgrade " + rig_.path();
  Findings unfinished;
  ASSERT_TRUE(verify_store(rig_.path(), unfinished).ok());
  ASSERT_EQ(unfinished.damage_count(), 1u);
  EXPECT_EQ(unfinished.fix(), fix);
  move("reverting/captures", "lost");
  Findings damaged;
  ASSERT_TRUE(verify_store(rig_.path(), damaged).ok());
  ASSERT_EQ(damaged.damage_count(), 1u);
  EXPECT_NE(damaged.damages().front().reason.find("reverting/captures is missing"), std::string::npos);
  EXPECT_EQ(damaged.fix(), "restore " + rig_.path() + "/reverting, then " + fix);
}

TEST_P(RocksUpgradeDamage, DoesNotKeepTheBackupForever) {
  write("damaged");
  EXPECT_FALSE(pending_upgrade(rig_.path()));
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(metric("fathom_upgrade_pending"), 0u);
  rig_.close();
  const DiskSpace much{.free_bytes = 1 << 30, .reserve_bytes = 0};
  UpgradeKeeper keeper(rig_.path(), 24 * kNanosPerHour);
  keeper.look(much, now_monotonic_nano() + 23 * kNanosPerHour);
  EXPECT_TRUE(has_backup(rig_.path()));
  UpgradeKeeper short_keeper(rig_.path(), kNanosPerHour);
  short_keeper.look(much, now_monotonic_nano() + 2 * kNanosPerHour);
  EXPECT_FALSE(has_backup(rig_.path()));
}

TEST_P(RocksUpgradeDamage, IsNotWhatANewerProgramWrote) {
  std::string text = without_hash();
  write(text.replace(text.find("to 7"), 4, "to 8"));
  const Result<> reverted = revert_upgrade(rig_.path());
  ASSERT_FALSE(reverted.ok());
  EXPECT_EQ(reverted.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(reverted.error().message.find("use the newer program"), std::string::npos) << reverted.error().message;
  expect_unchanged_and_revertible();
}

INSTANTIATE_TEST_SUITE_P(From, RocksUpgrade, ::testing::Values(5, 6));
INSTANTIATE_TEST_SUITE_P(From, RocksUpgradeDamage, ::testing::Values(6));
INSTANTIATE_TEST_SUITE_P(From, RocksUpgradeOfEach, ::testing::Range(1, 7));

}  // namespace
}  // namespace fathom::store::testing
