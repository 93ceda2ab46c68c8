// The list of synced logs is believed as a whole, for the manifest that CURRENT names, or not at all.
#include "store/wal/synced_logs.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/testing/temp_directory.h"
#include "store/testing/damage.h"
#include "store/wal/log_files.h"

namespace fathom::store::testing {
namespace {

class SyncedLogsTest : public ::testing::Test {
 protected:
  SyncedLogsTest() {
    set_current("MANIFEST-000007");
    SyncedLogs logs;
    for (const uint64_t log : {12, 8, 9}) logs.add(log);
    logs.add(9, 4096);
    EXPECT_TRUE(logs.remove(8));
    EXPECT_FALSE(logs.remove(8));
    EXPECT_TRUE(logs.write(env_, directory_.path(), "MANIFEST-000013").ok());
  }
  void set_current(const std::string& manifest) { write_file(directory_ / "CURRENT", manifest + "\n"); }
  std::set<uint64_t> read() { return SyncedLogs::read(env_, directory_.path()).numbers(); }

  TempDirectory directory_;
  rocksdb::Env& env_ = *rocksdb::Env::Default();
  const std::set<uint64_t> written_ = {9, 12};
};

TEST_F(SyncedLogsTest, ReadsWhatWasWritten) {
  EXPECT_EQ(read(), written_);
  const std::string text = read_file(directory_ / "synced-logs");
  EXPECT_TRUE(text.starts_with("MANIFEST-000007\nMANIFEST-000013\n9 4096\n12\nsha256 ")) << text;
  const SyncedLogs logs = SyncedLogs::read(env_, directory_.path());
  EXPECT_EQ(logs.synced_bytes(9), 4096u);
  EXPECT_EQ(logs.synced_bytes(12), 0u) << "not known";
}

TEST_F(SyncedLogsTest, KnowsNothingWithoutAFile) {
  ASSERT_TRUE(SyncedLogs::remove_file(env_, directory_.path()).ok());
  EXPECT_TRUE(read().empty());
  EXPECT_TRUE(SyncedLogs::remove_file(env_, directory_.path()).ok()) << "it is missing already";
}

TEST_F(SyncedLogsTest, KnowsNothingAfterAnyFlippedBit) {
  const std::string path = directory_ / "synced-logs", bytes = read_file(path);
  for (uint64_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    flip_bit(path, bit);
    EXPECT_TRUE(read().empty()) << bit;
    write_file(path, bytes);
  }
}

// An older server opened the store, and deleted logs without updating the list.
TEST_F(SyncedLogsTest, IsBelievedForItsManifestsOnly) {
  set_current("MANIFEST-000013");
  EXPECT_EQ(read(), written_);
  set_current("MANIFEST-000014");
  EXPECT_TRUE(read().empty());
  std::filesystem::remove(directory_ / "CURRENT");
  EXPECT_TRUE(read().empty());
}

TEST(LogNames, AreAsRocksDbWritesThem) {
  EXPECT_EQ(log_name(7), "000007.log");
  EXPECT_EQ(log_name(1234567), "1234567.log");
  EXPECT_EQ(log_number("000007.log"), 7u);
  for (const char* other : {"000007.sst", "000007.log.intact", "LOG", ".log", "x7.log", "7x.log"}) {
    EXPECT_EQ(log_number(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace fathom::store::testing
