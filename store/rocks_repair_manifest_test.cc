// A repair finds the manifest of a store whose CURRENT is damaged, and corrects one wrong bit in a manifest. Sorted
// files that a compaction replaced, and that a crash left behind, are then not read.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "store/rocks/database.h"
#include "store/testing/damage.h"
#include "store/testing/populated_store.h"
#include "store/verify/repair.h"
#include "store/verify/verify.h"
#include "store/wal/manifest_size.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

class RocksRepairManifest : public ::testing::Test {
 protected:
  void SetUp() override {
    copy_populated(rig_, /*seed=*/1);
    RocksRig original(populated_options());
    copy_populated(original, /*seed=*/1);
    ASSERT_EQ(original.open(), "");
    expected_ = all_answers(original.store());
    compact_and_keep_replaced_files();
  }

  std::string store() const { return rig_.path() + "/store"; }
  std::string current() const { return store() + "/CURRENT"; }
  std::string manifest() const {
    const std::string name = read_file(current());
    return store() + "/" + name.substr(0, name.size() - 1);
  }
  std::vector<fs::path> sorted_files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(store())) {
      if (entry.path().extension() == ".sst") found.push_back(entry.path());
    }
    return found;
  }

  // The path of a file of the family that the manifest names.
  std::string file_of(const std::string& family) const {
    const auto found = std::ranges::find(live_, family, &rocksdb::LiveFileMetaData::column_family_name);
    return found == live_.end() ? "" : store() + "/" + found->relative_filename;
  }

  // As after a crash before RocksDB deletes them.
  void compact_and_keep_replaced_files() {
    const std::vector<fs::path> before = sorted_files();
    manifest_before_ = read_file(manifest());
    for (const fs::path& path : before) fs::create_hard_link(path, path.string() + ".kept");
    {
      auto database = Database::open(rig_.options(), std::make_shared<LivePartitions>());
      ASSERT_TRUE(database.ok());
      for (size_t family = 0; family < kFamilies; ++family) {
        ASSERT_TRUE((*database)->compact(static_cast<Family>(family)).ok());
      }
      (*database)->db().GetLiveFilesMetaData(&live_);
    }
    for (const fs::path& path : before) {
      if (!fs::exists(path)) replaced_.push_back(path);
      fs::rename(path.string() + ".kept", path);
    }
    ASSERT_FALSE(replaced_.empty());
  }

  void expect_repair_loses_nothing() {
    TempDirectory directory;
    const RepairRequest request{.from = rig_.path(), .to = directory / "new", .read_clocks = rig_.clocks().reader()};
    const std::string before = tree_text(rig_.path());
    Findings findings, repaired_findings;
    Result<RepairOutcome> done = repair_store(request, findings);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_TRUE(findings.intact());
    EXPECT_EQ(tree_text(rig_.path()), before) << "the source is not changed";
    ASSERT_TRUE(verify_store(request.to, repaired_findings).ok());
    EXPECT_TRUE(repaired_findings.intact());
    RocksRig repaired(populated_options());
    fs::copy(request.to, repaired.path(), fs::copy_options::recursive);
    repaired.advance(rig_.now_unix_nano() - repaired.now_unix_nano());
    ASSERT_EQ(repaired.open(), "");
    EXPECT_EQ(all_answers(repaired.store()).texts, expected_.texts);
    EXPECT_TRUE(repaired.store().losses().empty());
  }

  void expect_repair_makes_an_intact_store() {
    TempDirectory directory;
    Findings findings, repaired;
    Result<RepairOutcome> done = repair_store({.from = rig_.path(), .to = directory / "new"}, findings);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_FALSE(findings.intact()) << "the lost rows are reported";
    ASSERT_TRUE(verify_store(directory / "new", repaired).ok());
    EXPECT_TRUE(repaired.intact()) << (repaired.damages().empty() ? "" : repaired.damages().front().reason);
  }

  RocksRig rig_{populated_options()};
  Answers expected_;
  std::string manifest_before_;
  std::vector<fs::path> replaced_;
  std::vector<rocksdb::LiveFileMetaData> live_;
};

TEST_F(RocksRepairManifest, ReadsTheManifestThatAMissingCurrentNamed) {
  fs::remove(current());
  expect_repair_loses_nothing();
}

TEST_F(RocksRepairManifest, ReadsTheManifestThatADamagedCurrentNamed) {
  flip_bit(current(), 8 * 12);
  expect_repair_loses_nothing();
}

TEST_F(RocksRepairManifest, SkipsAManifestThatWasNeverSynced) {
  write_file(store() + "/MANIFEST-900000", read_file(manifest()).substr(0, 600));
  fs::remove(current());
  expect_repair_loses_nothing();
}

// RocksDB gave it up, and deleted the files of its last record.
TEST_F(RocksRepairManifest, SkipsAManifestThatListsDeletedFiles) {
  write_file(store() + "/MANIFEST-900000", manifest_before_);
  ManifestSizes sizes = ManifestSizes::read(*rocksdb::Env::Default(), store());
  sizes.set("MANIFEST-900000", manifest_before_.size());
  ASSERT_TRUE(sizes.write(*rocksdb::Env::Default(), store()).ok());
  for (const fs::path& path : replaced_) fs::remove(path);
  fs::remove(current());
  expect_repair_loses_nothing();
}

TEST_F(RocksRepairManifest, ReportsAFileThatIsLostTogetherWithCurrent) {
  fs::remove(file_of("operation"));
  fs::remove(current());
  expect_repair_makes_an_intact_store();
}

TEST_F(RocksRepairManifest, FindsTheNewestManifestWithoutTheirSizes) {
  fs::remove(store() + "/manifest-size");
  fs::remove(current());
  expect_repair_loses_nothing();
}

// Each fragment is corrected on its own.
TEST_F(RocksRepairManifest, CorrectsAWrongBitOfAManifest) {
  const uint64_t bits = 8 * fs::file_size(manifest());
  for (const uint64_t bit : {bits / 3, bits - 1}) {
    SCOPED_TRACE(bit);
    flip_bit(manifest(), bit);
    expect_repair_loses_nothing();
    flip_bit(manifest(), bit);
  }
}

TEST_F(RocksRepairManifest, CorrectsAManifestWhoseEndWasNeverSynced) {
  flip_bit(manifest(), 8 * fs::file_size(manifest()) / 3);
  write_file(manifest(), read_file(manifest()) + std::string(20, '\x01'));
  expect_repair_loses_nothing();
}

// The first record has a header of seven bytes; the lowest bit of its length is wrong.
TEST_F(RocksRepairManifest, CorrectsAHeaderAndAPayload) {
  flip_bit(manifest(), 8 * 4);
  flip_bit(manifest(), 8 * fs::file_size(manifest()) - 1);
  expect_repair_loses_nothing();
}

TEST_F(RocksRepairManifest, CorrectsAManifestWithoutCurrent) {
  flip_bit(manifest(), 8 * fs::file_size(manifest()) / 2);
  fs::remove(current());
  expect_repair_loses_nothing();
}

// The manifest tells which files are in use.
TEST_F(RocksRepairManifest, LeavesReplacedFilesOutIfAnotherFileIsLost) {
  for (const char* family : {"default", "operation", "segment", "identity", "capture"}) {
    SCOPED_TRACE(family);
    const std::string path = file_of(family), bytes = read_file(path);
    fs::remove(path);
    expect_repair_makes_an_intact_store();
    write_file(path, bytes);
  }
}

}  // namespace
}  // namespace fathom::store::testing
