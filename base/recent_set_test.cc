#include "base/recent_set.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(RecentSet, KeepsKeysForATime) {
  RecentSet<int> set(10, 100);
  EXPECT_TRUE(set.add(1, 1000));
  EXPECT_FALSE(set.add(1, 1099)) << "which does not keep it longer";
  EXPECT_TRUE(set.contains(1, 1099));
  EXPECT_FALSE(set.contains(1, 1100));
  EXPECT_TRUE(set.add(1, 1100));
}

TEST(RecentSet, BeyondTheBoundTheOldestGo) {
  RecentSet<int> set(2, 100);
  for (int key : {1, 2, 3}) EXPECT_TRUE(set.add(key, 1000));
  EXPECT_FALSE(set.contains(1, 1000));
  EXPECT_TRUE(set.contains(2, 1000));
  EXPECT_TRUE(set.contains(3, 1000));
}

TEST(RecentSet, WhatWasErasedMayBeAddedAgainAndIsKeptFromThenOn) {
  RecentSet<int> set(10, 100);
  set.add(1, 1000);
  EXPECT_TRUE(set.erase(1, 1050));
  EXPECT_FALSE(set.erase(1, 1050));
  EXPECT_TRUE(set.add(1, 1060));
  EXPECT_TRUE(set.contains(1, 1159));
  EXPECT_FALSE(set.contains(1, 1160));
}

TEST(RecentSet, ErasingTakesNoMemoryForEver) {
  RecentSet<int> set(2, 100);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(set.add(1, 1000));
    ASSERT_TRUE(set.erase(1, 1000));
  }
  set.add(1, 1001);
  set.add(2, 1002);
  EXPECT_TRUE(set.contains(1, 1002)) << "those that were erased go first";
  EXPECT_TRUE(set.contains(2, 1002));
}

TEST(RecentSet, ATimeThatGoesBackForgetsNothing) {
  RecentSet<int> set(10, 100);
  set.add(1, 1000);
  EXPECT_TRUE(set.contains(1, 999));
}

}  // namespace
}  // namespace fathom
