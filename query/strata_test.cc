#include "query/strata.h"

#include <gtest/gtest.h>

namespace fathom::query {
namespace {

void add(Strata& strata, std::string_view name, uint64_t selected, uint64_t others) {
  for (uint64_t i = 0; i < selected; ++i) strata.add(name, true);
  for (uint64_t i = 0; i < others; ++i) strata.add(name, false);
}

TEST(Surprise, GrowsWithDifferenceAndWithNumbers) {
  EXPECT_GT(surprise(90, 100, 10, 100), surprise(60, 100, 40, 100));
  EXPECT_GT(surprise(600, 1000, 400, 1000), surprise(60, 100, 40, 100));
  EXPECT_LT(surprise(10, 100, 90, 100), 0);
  EXPECT_EQ(surprise(1, 1, 0, 0), 0);
  EXPECT_NEAR(surprise(50, 100, 50, 100), 0, 1e-9);
}

TEST(Strata, OfOneAreThePlainShares) {
  Strata strata;
  add(strata, "pay", 100, 900);
  StratumSides having{0, {90, 30}};
  Shares alike = strata.compare_alike({&having, 1}), all = strata.compare_all({90, 30});
  EXPECT_DOUBLE_EQ(alike.selected, 0.9);
  EXPECT_DOUBLE_EQ(alike.others, 30.0 / 900);
  EXPECT_NEAR(alike.surprise, all.surprise, 1e-6);
}

TEST(Strata, AMixtureThatDiffersIsNoDifferenceWithin) {
  Strata strata;
  add(strata, "charge", 90, 10);
  add(strata, "look", 10, 890);
  // Half of each charge has it, nothing else does.
  StratumSides having{0, {45, 5}};
  Shares alike = strata.compare_alike({&having, 1});
  EXPECT_DOUBLE_EQ(alike.selected, 0.45);
  EXPECT_DOUBLE_EQ(alike.others, 0.45);
  EXPECT_NEAR(alike.surprise, 0, 1e-6);
  EXPECT_GT(strata.compare_all({45, 5}).surprise, 100);
}

TEST(Strata, WhatOneSideAloneHasSaysNothing) {
  Strata strata;
  add(strata, "charge", 50, 0);
  StratumSides having{0, {50, 0}};
  EXPECT_EQ(strata.compare_alike({&having, 1}).surprise, 0);
}

// Few others of a kind that most of the selected are of: what they say weighs as little as they are.
TEST(Strata, FewOthersWeighLittle) {
  Strata many, few;
  add(many, "a", 50, 500);
  add(many, "b", 50, 500);
  add(few, "a", 50, 998);
  add(few, "b", 50, 2);
  StratumSides having{1, {50, 0}};
  EXPECT_GT(many.compare_alike({&having, 1}).surprise, 3 * few.compare_alike({&having, 1}).surprise);
}

}  // namespace
}  // namespace fathom::query
