#include "node-agent/agent/shares.h"

#include <gtest/gtest.h>

namespace fathom::agent {
namespace {

TEST(Shares, AloneAUserHasAll) {
  Shares shares;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(shares.may_send(1, 0));
    shares.begin(1, 0);
  }
}

TEST(Shares, BesideAnotherAUserHasTwoBatches) {
  Shares shares;
  shares.begin(2, 0);
  for (int i = 0; i < 3; ++i) shares.begin(1, 0);
  EXPECT_FALSE(shares.may_send(1, 0));
  EXPECT_TRUE(shares.may_send(2, 0));
  shares.end(1);
  EXPECT_FALSE(shares.may_send(1, 0));
  shares.end(1);
  EXPECT_TRUE(shares.may_send(1, 0));
}

TEST(Shares, WhoSentLatelyIsThereAndIsForgottenThen) {
  Shares shares;
  shares.begin(2, 0);
  shares.end(2);
  for (int i = 0; i < 3; ++i) shares.begin(1, 10);
  EXPECT_FALSE(shares.may_send(1, Shares::kActiveNano - 1));
  EXPECT_TRUE(shares.may_send(1, Shares::kActiveNano));
  EXPECT_EQ(shares.users(), 1u);
}

TEST(Shares, WhatIsUnderWayForLongCounts) {
  Shares shares;
  shares.begin(2, 0);
  for (int i = 0; i < 3; ++i) shares.begin(1, 0);
  EXPECT_FALSE(shares.may_send(1, 100 * Shares::kActiveNano));
}

}  // namespace
}  // namespace fathom::agent
