// How large the logs may be.
#include "store/rocks/database_options.h"

#include <gtest/gtest.h>

namespace fathom::store {
namespace {

constexpr uint64_t kMebibyte = 1 << 20;

TEST(MostLogBytes, IsASmallPartOfASmallLimitOfSize) {
  EXPECT_EQ(most_log_bytes(0, 256 * kMebibyte), 256 * kMebibyte);
  EXPECT_EQ(most_log_bytes(50 * 1024 * kMebibyte, 256 * kMebibyte), 256 * kMebibyte);
  EXPECT_EQ(most_log_bytes(80 * kMebibyte, 256 * kMebibyte), 10 * kMebibyte);
  EXPECT_EQ(most_log_bytes(kMebibyte, 256 * kMebibyte), 2 * kMebibyte) << "RocksDB would flush all the time";
}

TEST(MostLogBytes, IsAnEighthOfASmallReserve) {
  EXPECT_EQ(most_log_bytes(0, 128 * kMebibyte), 256 * kMebibyte);
  EXPECT_EQ(most_log_bytes(0, 128 * kMebibyte - 8), 16 * kMebibyte - 1);
  EXPECT_EQ(most_log_bytes(0, 32 * kMebibyte), 4 * kMebibyte);
  EXPECT_EQ(most_log_bytes(0, kMebibyte), 2 * kMebibyte) << "RocksDB would flush all the time";
  EXPECT_EQ(most_log_bytes(0, 0), 256 * kMebibyte) << "there is no reserve";
}

TEST(MostLogBytes, IsTheLesserOfBoth) {
  EXPECT_EQ(most_log_bytes(24 * kMebibyte, 32 * kMebibyte), 3 * kMebibyte);
  EXPECT_EQ(most_log_bytes(80 * kMebibyte, 32 * kMebibyte), 4 * kMebibyte);
}

}  // namespace
}  // namespace fathom::store
