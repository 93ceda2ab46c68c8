// How much of a disk is reserved, and how large the logs may be. The disk is larger than 8 MiB, so that a reserve of 1
// MiB is not cut.
#include "store/rocks/disk_space.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing/temp_directory.h"
#include "store/disk_reserve.h"
#include "store/rocks/database_options.h"
#include "store/testing/fault_env.h"

namespace fathom::store {
namespace {

constexpr uint64_t kReserve = 1 << 20;

class LogLimit : public ::testing::Test {
 protected:
  uint64_t limit() { return log_limit(env_, options_); }

  TempDirectory directory_;
  std::shared_ptr<FaultFileSystem> disk_ = std::make_shared<FaultFileSystem>();
  FaultEnv env_{disk_};
  RocksOptions options_{
      .path = directory_.path(), .reserve_disk_bytes = kReserve, .cache_bytes = 8 << 20, .env = &env_};
};

TEST(DiskReserve, IsAPartOfASmallDisk) {
  constexpr uint64_t kMiB = 1 << 20, kMost = 256 * kMiB;
  EXPECT_EQ(disk_reserve_bytes(kMost, 4096 * kMiB), kMost);
  EXPECT_EQ(disk_reserve_bytes(kMost, 1024 * kMiB), 128 * kMiB);
  EXPECT_EQ(disk_reserve_bytes(kMost, 128 * kMiB), 16 * kMiB);
  EXPECT_EQ(disk_reserve_bytes(kMost, 100 * kMiB), 16 * kMiB);
  EXPECT_EQ(disk_reserve_bytes(kMost, 32 * kMiB), 8 * kMiB);
  EXPECT_EQ(disk_reserve_bytes(0, 32 * kMiB), 0u);
}

TEST(DiskSpaceTest, HasNoRoomWithoutInodes) {
  DiskSpace space{.free_bytes = 100, .reserve_bytes = 10, .free_files = 256, .reserve_files = 256};
  EXPECT_TRUE(space.has_room_for(90));
  EXPECT_FALSE(space.has_room_for(91));
  space.free_files = 255;
  EXPECT_FALSE(space.has_room_for(0));
}

TEST_F(LogLimit, IsNoneWhileTheDiskIsNearlyFull) {
  disk_->set_free_bytes(kReserve - 1);
  EXPECT_EQ(limit(), kUnlimitedLogBytes);
  disk_->set_free_bytes(kReserve);
  EXPECT_EQ(limit(), most_log_bytes(0, kReserve));
  disk_->release_space();
  EXPECT_EQ(limit(), most_log_bytes(0, kReserve));
}

// The server before had no limit, or the reserve was raised.
TEST_F(LogLimit, IsNoneWhileTheRowsOfTheLogsHaveNoRoom) {
  constexpr uint64_t kLogBytes = 5 << 20;
  std::filesystem::create_directories(directory_ / "store");
  std::ofstream(directory_ / "store/000004.log");
  std::filesystem::resize_file(directory_ / "store/000004.log", kLogBytes);
  disk_->set_free_bytes(kReserve + kLogBytes - 1);
  EXPECT_EQ(limit(), kUnlimitedLogBytes);
  disk_->set_free_bytes(kReserve + kLogBytes);
  EXPECT_EQ(limit(), most_log_bytes(0, kReserve));
}

TEST_F(LogLimit, FollowsTheRetention) {
  options_.reserve_disk_bytes = 0;
  EXPECT_EQ(limit(), most_log_bytes(0, 0));
  options_.retention_bytes = 80 << 20;
  EXPECT_EQ(limit(), 10u << 20);
}

TEST_F(LogLimit, IgnoresAReserveThatCannotBeMeasured) {
  options_.path = directory_ / "missing";
  EXPECT_EQ(limit(), most_log_bytes(0, 0));
}

// RocksDB's own value, and the one that limit_log() compares with.
TEST_F(LogLimit, IsSetByAnOpen) {
  disk_->set_free_bytes(kReserve - 1);
  Result<std::unique_ptr<Database>> opened = Database::open(options_, std::make_shared<LivePartitions>());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Database& database = **opened;
  const auto current = [&] { return database.db().GetDBOptions().max_total_wal_size; };
  EXPECT_EQ(current(), kUnlimitedLogBytes);
  disk_->release_space();
  database.limit_log(limit());
  EXPECT_EQ(current(), most_log_bytes(0, kReserve));
  database.limit_log(kUnlimitedLogBytes);
  EXPECT_EQ(current(), kUnlimitedLogBytes);
}

}  // namespace
}  // namespace fathom::store
