#include "base/clock_offset.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(ClockOffset, CorrectsTimes) {
  EXPECT_EQ(corrected_unix_nano(1000, std::nullopt), 1000u);
  EXPECT_EQ(corrected_unix_nano(1000, ClockOffset{-200, 9}), 800u);
  EXPECT_EQ(corrected_unix_nano(1000, ClockOffset{200, 9}), 1200u);
}

TEST(ClockOffset, LeadsNotBeyondTime) {
  for (int64_t offset : {INT64_MIN, INT64_MIN + 1}) EXPECT_EQ(corrected_unix_nano(1000, ClockOffset{offset, 0}), 0u);
  EXPECT_EQ(corrected_unix_nano(UINT64_MAX, ClockOffset{INT64_MIN, 0}), UINT64_MAX - (uint64_t{1} << 63));
  EXPECT_EQ(corrected_unix_nano(UINT64_MAX - 1, ClockOffset{INT64_MAX, 0}), UINT64_MAX);
  EXPECT_EQ(corrected_unix_nano(0, ClockOffset{-1, 0}), 0u);
}

}  // namespace
}  // namespace fathom
