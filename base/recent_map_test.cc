#include "base/recent_map.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

// recent_set_test.cc tests what RecentMap shares with RecentSet.
TEST(RecentMap, ValuesMayBeChangedAndGoWithTheirKeys) {
  RecentMap<int, int> map(2, 100);
  EXPECT_TRUE(map.add(1, 10, 1000));
  EXPECT_FALSE(map.add(1, 20, 1000));
  ASSERT_NE(map.find(1, 1000), nullptr);
  EXPECT_EQ(*map.find(1, 1000), 10) << "the first stays";
  *map.find(1, 1000) = 30;
  EXPECT_EQ(*map.find(1, 1099), 30);
  EXPECT_EQ(map.find(1, 1100), nullptr);
  EXPECT_TRUE(map.add(1, 40, 1100));
  EXPECT_EQ(*map.find(1, 1100), 40);
}

}  // namespace
}  // namespace fathom
