#include "collector/control/hold_limits.h"

#include <gtest/gtest.h>

namespace fathom::collector {
namespace {

using HoldVerdict = HoldLimits::Verdict;

Id<16> filled_id(char name) {
  Id<16> id;
  id.bytes.fill(static_cast<uint8_t>(name));
  return id;
}

TEST(HoldLimits, OneNodesAnnouncementsLeaveRoomForOthers) {
  HoldLimits limits({.traces_per_s = 0.001, .burst = 5}, {.traces_per_s = 0.001, .burst = 3});
  for (char trace : {'1', '2', '3'})
    EXPECT_EQ(limits.announced(filled_id('a'), filled_id(trace), 5), HoldVerdict::kAsk);
  EXPECT_EQ(limits.announced(filled_id('a'), filled_id('4'), 5), HoldVerdict::kTooMany) << "its share";
  for (char trace : {'4', '5'}) EXPECT_EQ(limits.announced(filled_id('b'), filled_id(trace), 5), HoldVerdict::kAsk);
  EXPECT_EQ(limits.announced(filled_id('b'), filled_id('6'), 5), HoldVerdict::kTooMany) << "of all nodes";
}

TEST(HoldLimits, ATraceIsHeldOnceWhoeverAnnouncesIt) {
  HoldLimits limits({.traces_per_s = 0.001, .burst = 5}, {.traces_per_s = 0.001, .burst = 2});
  EXPECT_EQ(limits.announced(filled_id('a'), filled_id('1'), 5), HoldVerdict::kAsk);
  for (char node : {'a', 'a', 'b'})
    EXPECT_EQ(limits.announced(filled_id(node), filled_id('1'), 5), HoldVerdict::kAsked);
  EXPECT_EQ(limits.announced(filled_id('a'), filled_id('2'), 5), HoldVerdict::kAsk) << "which cost nothing";
  EXPECT_EQ(limits.announced(filled_id('b'), filled_id('1'), 5 + kNanosPerMinute), HoldVerdict::kAsk) << "forgotten";
}

}  // namespace
}  // namespace fathom::collector
