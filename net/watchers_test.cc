#include "net/watchers.h"

#include <gtest/gtest.h>

namespace fathom::net {
namespace {

TEST(Watchers, TellWhoeverWatches) {
  Watchers watchers;
  watchers.tell();
  int first = 0, second = 0;
  Watchers::Watch one = watchers.add([&] { ++first; });
  const Watchers::Watch other = watchers.add([&] { ++second; });
  watchers.tell();
  one.reset();
  watchers.tell();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
}

TEST(Watchers, WhoIsToldMayWatchAndLetGo) {
  Watchers watchers;
  int told = 0;
  Watchers::Watch later;
  Watchers::Watch first = watchers.add([&] {
    first.reset();
    later = watchers.add([&] { ++told; });
  });
  watchers.tell();
  EXPECT_EQ(told, 0);
  watchers.tell();
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace fathom::net
