#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

int taken(TokenBucket& bucket, uint64_t now_nano) {
  int count = 0;
  while (count < 1000 && bucket.take(now_nano)) ++count;
  return count;
}

TEST(TokenBucket, GivesItsBurstAndThenItsRate) {
  constexpr uint64_t kStart = 1'000 * kNanosPerSecond;
  TokenBucket bucket(2, 5);
  EXPECT_EQ(taken(bucket, kStart), 5);
  EXPECT_EQ(taken(bucket, kStart + kNanosPerSecond / 4), 0);
  EXPECT_EQ(taken(bucket, kStart + kNanosPerSecond / 2), 1);
  EXPECT_EQ(taken(bucket, kStart + 2 * kNanosPerSecond), 3);
  EXPECT_EQ(taken(bucket, kStart + kNanosPerHour), 5) << "no more than the burst";
}

TEST(TokenBucket, AClockThatGoesBackGivesNothing) {
  TokenBucket bucket(1, 1);
  EXPECT_EQ(taken(bucket, kNanosPerHour), 1);
  EXPECT_EQ(taken(bucket, kNanosPerSecond), 0);
  EXPECT_EQ(taken(bucket, kNanosPerHour + kNanosPerSecond), 1);
}

}  // namespace
}  // namespace fathom
