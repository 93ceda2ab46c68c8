// Snapshots, images, kept answers and rules: intact ones are copied, damaged ones are found.
#include "apps/store/other_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/testing/temp_directory.h"
#include "collector/control/rules_file.h"
#include "snapshot/format/directory.h"
#include "store/clock/age_state.h"

namespace fathom {
namespace {

namespace fs = std::filesystem;

class OtherFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = snapshot::SnapshotDirectory::open(data() + "/server-snapshots");
    ASSERT_TRUE(made.ok()) << made.error().message;
    auto image = made->add_image_bytes("an executable file");
    ASSERT_TRUE(image.ok());
    image_ = made->image_path(image->content);
    snapshot_ = write_snapshot(*made);
    ASSERT_TRUE(made->keep_result("key", "an answer").ok());
    ASSERT_TRUE(collector::write_rules(data(), collector::TracepointRules()).ok());
    std::ofstream(data() + "/clock", std::ios::binary) << store::encode_age_state({});
  }

  std::string data() const { return directory_ / "data"; }
  std::string result() const { return data() + "/server-snapshots/results/key"; }

  static std::string write_snapshot(const snapshot::SnapshotDirectory& to) {
    auto draft = to.draft();
    EXPECT_TRUE(draft.ok());
    auto writer = snapshot::SnapshotWriter::begin(Fd(::open(draft->c_str(), O_RDWR | O_CLOEXEC)));
    EXPECT_TRUE(writer.ok());
    auto id = writer->finish(snapshot::Snapshot());
    EXPECT_TRUE(id.ok());
    EXPECT_TRUE(to.publish(*draft, *id).ok());
    return to.snapshot_path(*id);
  }
  static void flip(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(in), {});
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  std::string damaged_part() const {
    store::Findings findings;
    check_other_files(data(), findings);
    return findings.damages().size() == 1 ? findings.damages().front().part : "";
  }

  TempDirectory directory_;
  std::string image_;
  std::string snapshot_;
};

TEST_F(OtherFiles, IntactOnesHaveNoFindings) {
  store::Findings findings;
  check_other_files(data(), findings);
  EXPECT_TRUE(findings.intact()) << findings.damages().front().reason;
  EXPECT_EQ(findings.parts().size(), 5u);
}

TEST_F(OtherFiles, FindsADamagedSnapshot) {
  flip(snapshot_);
  EXPECT_EQ(damaged_part(), "snapshots");
}

TEST_F(OtherFiles, FindsADamagedImage) {
  flip(image_);
  EXPECT_EQ(damaged_part(), "snapshot images");
}

TEST_F(OtherFiles, FindsDamagedRules) {
  flip(data() + "/tracepoint-rules");
  EXPECT_EQ(damaged_part(), "tracepoint rules");
}

// Without the token, a server would answer everybody; a person must look at a damaged one.
TEST_F(OtherFiles, TheTokenAndTheKeysAreCopied) {
  std::ofstream(data() + "/query-token") << "local:" << std::string(64, 'a') << "\n";
  std::ofstream(data() + "/node-keys") << std::string(32, 'b') << " " << std::string(64, 'c') << "\n";
  std::ofstream(data() + "/redact-key") << std::string(64, 'd') << "\n";
  store::Findings findings;
  check_other_files(data(), findings);
  EXPECT_TRUE(findings.intact());
  fs::create_directories(directory_ / "new");
  ASSERT_TRUE(copy_other_files(data(), directory_ / "new", findings).ok());
  for (const char* name : {"/query-token", "/node-keys", "/redact-key"}) {
    EXPECT_EQ(fs::status((directory_ / "new") + name).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    std::ofstream(data() + name) << "damaged\n";
  }
  store::Findings damaged;
  fs::create_directories(directory_ / "newer");
  ASSERT_TRUE(copy_other_files(data(), directory_ / "newer", damaged).ok());
  EXPECT_EQ(damaged.damage_count(), 3u);
  EXPECT_TRUE(fs::exists((directory_ / "newer") + "/query-token"));
}

// A server sets a damaged clock aside and assumes no time off; without one it takes stamps for wall clock times.
TEST_F(OtherFiles, ADamagedClockIsFoundAndCopied) {
  flip(data() + "/clock");
  EXPECT_EQ(damaged_part(), "age clock");
  fs::create_directories(directory_ / "new");
  store::Findings findings;
  ASSERT_TRUE(copy_other_files(data(), directory_ / "new", findings).ok());
  EXPECT_TRUE(fs::exists((directory_ / "new") + "/clock"));
}

// Every directory from version 7 on has a clock once its first start has ended.
TEST_F(OtherFiles, AMissingClockIsFound) {
  fs::remove(data() + "/clock");
  std::ofstream(data() + "/version") << "7\n";
  EXPECT_EQ(damaged_part(), "age clock");
  fs::create_directories(directory_ / "new");
  std::ofstream((directory_ / "new") + "/clock") << "of the new directory";
  store::Findings copied;
  ASSERT_TRUE(copy_other_files(data(), directory_ / "new", copied).ok());
  EXPECT_FALSE(fs::exists((directory_ / "new") + "/clock")) << "the repaired directory lacks it, too";
  for (const char* version : {"6\n", "7 new\n"}) {
    std::ofstream(data() + "/version", std::ios::trunc) << version;
    store::Findings findings;
    check_other_files(data(), findings);
    EXPECT_TRUE(findings.intact()) << version;
  }
}

TEST_F(OtherFiles, ADamagedAnswerIsFoundAndNotGiven) {
  auto directory = snapshot::SnapshotDirectory::open(data() + "/server-snapshots");
  EXPECT_EQ(directory->result("key"), "an answer");
  flip(result());
  EXPECT_EQ(damaged_part(), "kept answers");
  EXPECT_EQ(directory->result("key"), std::nullopt);
}

TEST_F(OtherFiles, CopiesIntactOnesWithTheirTimes) {
  flip(image_);
  fs::last_write_time(snapshot_, fs::last_write_time(snapshot_) - std::chrono::hours(5));
  fs::create_directories(directory_ / "new");
  store::Findings findings;
  ASSERT_TRUE(copy_other_files(data(), directory_ / "new", findings).ok());
  EXPECT_EQ(findings.damage_count(), 1u);
  const std::string copied = (directory_ / "new") + snapshot_.substr(data().size());
  EXPECT_EQ(fs::last_write_time(copied), fs::last_write_time(snapshot_));
  EXPECT_FALSE(fs::exists((directory_ / "new") + image_.substr(data().size())));
  EXPECT_TRUE(fs::exists((directory_ / "new") + "/tracepoint-rules"));
}

}  // namespace
}  // namespace fathom
