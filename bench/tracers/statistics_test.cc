#include "bench/tracers/statistics.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace fathom::bench::tracers {
namespace {

TEST(Statistics, OfNothingIsZero) {
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(distribution_of({}).average, 0);
  EXPECT_FALSE(find_slow_path({}).has_value());
}

TEST(Statistics, MedianAndPercentilesAreValuesThatWereSeen) {
  EXPECT_EQ(median_of({5}), 5);
  EXPECT_EQ(median_of({9, 1, 5}), 5);
  EXPECT_EQ(median_of({4, 3, 2, 1}), 2);
  std::vector<double> hundred;
  for (int i = 100; i > 0; --i) hundred.push_back(i);
  EXPECT_EQ(percentile_of(hundred, 90), 90);
  EXPECT_EQ(percentile_of(hundred, 99.5), 100);
  EXPECT_EQ(percentile_of(hundred, 0), 1);
}

TEST(Statistics, DistributionIsThatOfAllValues) {
  const Distribution known = distribution_of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(known.average, 5);
  EXPECT_DOUBLE_EQ(known.deviation, 2);
  EXPECT_EQ(known.p90, 9);
}

// A spell in which everything takes twice its time changes neither.
TEST(Statistics, RatiosAndDifferencesAreFormedWithinARound) {
  EXPECT_DOUBLE_EQ(median_ratio({11, 22, 11}, {10, 20, 10}), 1.1);
  EXPECT_DOUBLE_EQ(median_difference({3, 30, 4}, {2, 10, 3}), 1);
}

std::vector<double> quiet(size_t count) {
  std::vector<double> nanos(count);
  for (size_t i = 0; i < count; ++i) nanos[i] = i % 2 == 0 ? 10 : 20;  // the steps of a coarse counter
  return nanos;
}

TEST(SlowPath, IsFoundByItsEvenDistanceAmongInterruptions) {
  std::vector<double> nanos = quiet(10'000);
  for (size_t i = 300; i < nanos.size(); i += 810) nanos[i] = 1'500 + static_cast<double>(i % 7);
  for (const size_t i : {17, 4'000, 7'777}) nanos[i] = 4'900;
  const auto slow = find_slow_path(nanos);
  ASSERT_TRUE(slow.has_value());
  EXPECT_EQ(slow->every, 810);
  EXPECT_NEAR(slow->median, 1'503, 4);
  EXPECT_GE(slow->seen, 8);
}

// A buffer of many events takes longer to change than an interruption, and there are more interruptions than buffers.
TEST(SlowPath, IsFoundWhereInterruptionsLieBetween) {
  std::mt19937 random(3);
  std::vector<double> nanos = quiet(200'000);
  for (int i = 0; i < 4'000; ++i) nanos[random() % nanos.size()] = 40;
  for (int i = 0; i < 40; ++i) nanos[random() % nanos.size()] = 3'000 + static_cast<double>(random() % 1'000'000);
  for (size_t i = 9'000; i < nanos.size(); i += 21'000) nanos[i] = 12'000;
  const auto slow = find_slow_path(nanos);
  ASSERT_TRUE(slow.has_value());
  EXPECT_EQ(slow->every, 21'000);
  EXPECT_EQ(slow->median, 12'000);
}

TEST(SlowPath, IsFoundAmongTouchesOfNewCacheLines) {
  std::vector<double> nanos = quiet(100'000);
  for (size_t i = 5; i < nanos.size(); i += 16) nanos[i] = 60;
  EXPECT_FALSE(find_slow_path(nanos).has_value());
  for (size_t i = 400; i < nanos.size(); i += 810) nanos[i] = 1'300;
  const auto slow = find_slow_path(nanos);
  ASSERT_TRUE(slow.has_value());
  EXPECT_EQ(slow->every, 810);
  EXPECT_EQ(slow->median, 1'300);
}

// The length of a line, and so the number of those in a buffer, goes with its digits: mostly 195, else up to 205.
TEST(SlowPath, MayReturnAtSeveralDistances) {
  std::mt19937 random(5);
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::vector<double> nanos = quiet(60'000);
    for (int i = 0; i < 400; ++i) nanos[random() % nanos.size()] = 60 + static_cast<double>(random() % 900);
    for (size_t i = 0, bytes = 0; i < nanos.size(); ++i) {
      bytes += 17 + std::to_string(i % 2'000).size();
      if (bytes > 4'096) nanos[i] = 400 + static_cast<double>(random() % 100);
      bytes %= 4'096;
    }
    const auto slow = find_slow_path(nanos);
    ASSERT_TRUE(slow.has_value());
    EXPECT_EQ(slow->every, 195);
    EXPECT_NEAR(slow->median, 450, 30);
  }
}

TEST(SlowPath, IsNotMadeOfChance) {
  std::mt19937 random(7);
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::vector<double> nanos = quiet(10'000);
    for (int i = 0; i < 30; ++i) nanos[random() % nanos.size()] = 2'000;
    EXPECT_FALSE(find_slow_path(nanos).has_value());
    nanos = quiet(60'000);
    for (int i = 0; i < 2'000; ++i) nanos[random() % nanos.size()] = 50 + static_cast<double>(random() % 5'000);
    EXPECT_FALSE(find_slow_path(nanos).has_value());
  }
}

TEST(SlowPath, IsNotABurst) {
  std::vector<double> nanos = quiet(10'000);
  for (size_t i = 5'000; i < 5'040; i += 4) nanos[i] = 300;
  EXPECT_FALSE(find_slow_path(nanos).has_value());
}

}  // namespace
}  // namespace fathom::bench::tracers
