// A damaged DIR/version: a start rejects it, because an upgrade would delete the backup of the last one, and verify
// reports it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/rocks/upgrade_backup.h"
#include "store/testing/rocks_rig.h"
#include "store/verify/verify.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

// A directory of format 6 that was upgraded, which can be reverted.
class RocksVersionDamage : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(FATHOM_TESTDATA "/data-v6", rig_.path(), fs::copy_options::recursive);
    rig_.options().env = nullptr;
    ASSERT_EQ(rig_.open(), "");
    rig_.close();
    ASSERT_TRUE(pending_upgrade(rig_.path()));
    ASSERT_TRUE(has("/clock"));
    ASSERT_TRUE(has("/store/manifest-size"));
  }
  bool has(const std::string& name) const { return fs::exists(rig_.path() + name); }
  std::string version() const {
    std::ostringstream text;
    text << std::ifstream(rig_.path() + "/version").rdbuf();
    return text.str();
  }
  void write_version(const std::string& text) const { std::ofstream(rig_.path() + "/version") << text; }
  bool is_found_by_verification() const {
    Findings findings;
    EXPECT_TRUE(verify_store(rig_.path(), findings).ok());
    for (const Damage& damage : findings.damages()) {
      if (damage.part == "version") return true;
    }
    return false;
  }
  void expect_rejected(const std::string& text) {
    SCOPED_TRACE("version " + text);
    write_version(text);
    Result<std::unique_ptr<RocksStore>> opened = RocksStore::open(rig_.options());
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt) << opened.error().message;
    EXPECT_EQ(version(), text);
    EXPECT_TRUE(pending_upgrade(rig_.path()));
    EXPECT_TRUE(is_found_by_verification());
  }

  RocksRig rig_;
};

TEST_F(RocksVersionDamage, OfAnyBitIsRejectedOrChangesNothing) {
  const std::string intact = version();
  for (size_t bit = 0; bit < 8 * intact.size(); ++bit) {
    std::string text = intact;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    write_version(text);
    Result<std::unique_ptr<RocksStore>> opened = RocksStore::open(rig_.options());
    ASSERT_TRUE(pending_upgrade(rig_.path())) << "bit " << bit << ": the backup is deleted";
    EXPECT_EQ(pending_upgrade(rig_.path())->from, 6) << "bit " << bit;
    EXPECT_EQ(opened ? ErrorCode::kCorrupt : opened.error().code, ErrorCode::kCorrupt) << "bit " << bit;
  }
}

TEST_F(RocksVersionDamage, IsAnOlderNumberBesideEitherFileOfANewerServer) {
  for (const char* removed : {"/clock", "/store/manifest-size"}) {
    fs::rename(rig_.path() + removed, rig_.path() + "/away");
    for (const char* number : {"6\n", "5\n", "3\n", "6 new\n", ""}) expect_rejected(number);
    fs::rename(rig_.path() + "/away", rig_.path() + removed);
  }
}

TEST_F(RocksVersionDamage, IsRepairedAsTheErrorSays) {
  write_version("6\n");
  Result<std::unique_ptr<RocksStore>> opened = RocksStore::open(rig_.options());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("echo 7 > " + rig_.path() + "/version"), std::string::npos);
  EXPECT_NE(opened.error().message.find("fathom store repair " + rig_.path()), std::string::npos);
  write_version("7\n");
  EXPECT_FALSE(is_found_by_verification());
  EXPECT_EQ(rig_.open(), "");
}

TEST_F(RocksVersionDamage, IsNoneAfterARevert) {
  ASSERT_TRUE(revert_upgrade(rig_.path()).ok());
  EXPECT_EQ(version(), "6\n");
  EXPECT_FALSE(has("/clock"));
  EXPECT_FALSE(has("/store/manifest-size"));
  EXPECT_FALSE(is_found_by_verification());
  EXPECT_EQ(rig_.open(), "");
}

// After the upgrade's backup, and before DIR/version is replaced.
TEST_F(RocksVersionDamage, IsNoneWhereACrashInterruptedTheUpgrade) {
  ASSERT_TRUE(revert_upgrade(rig_.path()).ok());
  ASSERT_TRUE(begin_upgrade(rig_.path(), 6, 7, kTestNow).ok());
  EXPECT_FALSE(is_found_by_verification());
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(version(), "7\n");
  EXPECT_TRUE(pending_upgrade(rig_.path()));
}

}  // namespace
}  // namespace fathom::store::testing
