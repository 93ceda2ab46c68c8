#include "query/number_tally.h"

#include <gtest/gtest.h>

#include <random>

namespace fathom::query {
namespace {

TEST(RoundestAbove, HasTheFewestDigits) {
  EXPECT_EQ(roundest_above(498.2, 504.1), 500);
  EXPECT_EQ(roundest_above(50, 51), 51);
  EXPECT_EQ(roundest_above(99, 100), 100);
  EXPECT_EQ(roundest_above(0, 0.037), 0.03);
  EXPECT_EQ(roundest_above(-3, 4), 0);
  EXPECT_EQ(roundest_above(-504.1, -498.2), -500);
  EXPECT_EQ(roundest_above(1, 1'234'567), 1'000'000);
  EXPECT_EQ(roundest_above(0, 7), 7);
}

TEST(RoundestAbove, LiesBetween) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    double low = std::uniform_real_distribution<>(-1e6, 1e6)(random);
    double high = low + std::exponential_distribution<>(1 + static_cast<double>(random() % 1000))(random);
    if (high <= low) continue;
    double found = roundest_above(low, high);
    ASSERT_GT(found, low);
    ASSERT_LE(found, high);
  }
}

struct Both {
  std::vector<Member> members;
  NumberTally tally;
  void add(bool is_selected, double value, bool is_whole = false) {
    members.push_back({.is_selected = is_selected});
    tally.add(static_cast<uint32_t>(members.size() - 1), value, is_whole);
  }
};

TEST(NumberTally, FindsTheBoundEitherWay) {
  Both above, below;
  for (int i = 0; i < 200; ++i) {
    above.add(i >= 150, i * 3.7);
    below.add(i < 50, i * 3.7);
  }
  auto least = above.tally.best_bound(above.members, false);
  ASSERT_TRUE(least);
  EXPECT_EQ(least->is, TraitIs::kAtLeast);
  EXPECT_EQ(above.tally.within(*least).size(), 50u);
  EXPECT_EQ(above.tally.text(least->value), "555");
  auto most = below.tally.best_bound(below.members, false);
  ASSERT_TRUE(most);
  EXPECT_EQ(most->is, TraitIs::kAtMost);
  EXPECT_EQ(below.tally.within(*most).size(), 50u);
}

TEST(NumberTally, ChanceIsNoBound) {
  std::mt19937_64 random(7);
  int found = 0;
  for (int round = 0; round < 100; ++round) {
    Both both;
    for (int i = 0; i < 500; ++i) both.add(i < 50, std::uniform_real_distribution<>(0, 1)(random));
    auto bound = both.tally.best_bound(both.members, false);
    if (bound && bound->surprise - bound->penalty > 15) ++found;
  }
  EXPECT_EQ(found, 0);
}

TEST(NumberTally, WhoSaysNoneHasZeroWhereThatIsMeant) {
  Both both;
  for (int i = 0; i < 100; ++i) both.members.push_back({.is_selected = false});
  for (int i = 0; i < 50; ++i) both.add(true, 2, true);
  auto bound = both.tally.best_bound(both.members, true);
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->value, 2);
  EXPECT_EQ(both.tally.text(bound->value), "2");
  EXPECT_FALSE(both.tally.best_bound(both.members, false));
}

TEST(NumberTally, OfAMemberTheGreatest) {
  NumberTally tally;
  std::vector<Member> members(1);
  tally.add(0, 3, true);
  tally.add(0, 9, true);
  tally.add(0, 4, true);
  EXPECT_EQ(tally.within({.is = TraitIs::kAtLeast, .value = 9}).size(), 1u);
  EXPECT_EQ(tally.within({.is = TraitIs::kAtLeast, .value = 10}).size(), 0u);
}

}  // namespace
}  // namespace fathom::query
