#include "node-agent/agent/look_budget.h"

#include <gtest/gtest.h>

#include "base/time.h"

namespace fathom::agent {
namespace {

class LookBudgetTest : public ::testing::Test {
 protected:
  // Spends all the time that this process may use now, and returns it.
  uint64_t take_all(uid_t user, uint64_t now_nano, pid_t process = kProcess) {
    const uint64_t left_nano = looks_.left_nano(user, process, now_nano);
    looks_.spend(user, process, left_nano);
    return left_nano;
  }

  static constexpr pid_t kProcess = 500;

  LookBudget looks_{{.round_nano = 50, .budget_nano = 12}};
};

TEST_F(LookBudgetTest, AUserAloneHasAllOfEachRoundAndNoMore) {
  EXPECT_EQ(looks_.left_nano(1, kProcess, 100), 12u);
  looks_.spend(1, kProcess, 5);
  EXPECT_EQ(looks_.left_nano(1, kProcess, 120), 7u);
  looks_.spend(1, kProcess, 30);
  EXPECT_EQ(looks_.left_nano(1, kProcess, 149), 0u);
  EXPECT_EQ(looks_.left_nano(1, kProcess, 150), 12u);
}

TEST_F(LookBudgetTest, UsersShareARoundFromTheNextOneOn) {
  EXPECT_EQ(take_all(1, 100), 12u);
  EXPECT_EQ(take_all(2, 110), 0u) << "all is spent";
  EXPECT_EQ(take_all(1, 150), 6u);
  EXPECT_EQ(take_all(1, 160), 0u) << "the rest is the other's";
  EXPECT_EQ(take_all(2, 199), 6u);
}

TEST_F(LookBudgetTest, AllTogetherSpendNoMoreThanTheBudget) {
  EXPECT_EQ(looks_.left_nano(1, kProcess, 100), 12u);
  looks_.spend(1, kProcess, 4);
  EXPECT_EQ(looks_.left_nano(2, kProcess, 100), 6u);
  looks_.spend(2, kProcess, 7);
  EXPECT_EQ(looks_.left_nano(3, kProcess, 100), 1u) << "less than its share";
}

TEST_F(LookBudgetTest, AUserWhoDoesNotAskAnyMoreHasNoShare) {
  take_all(1, 100);
  take_all(2, 100);
  EXPECT_EQ(take_all(1, 150), 6u);
  EXPECT_EQ(take_all(1, 200), 12u);
}

TEST_F(LookBudgetTest, ProcessesOfAUserShareWhatTheUserHas) {
  EXPECT_EQ(take_all(1, 100, 11), 12u);
  EXPECT_EQ(take_all(1, 110, 12), 0u) << "all is spent";
  EXPECT_EQ(take_all(1, 150, 11), 6u);
  EXPECT_EQ(take_all(1, 160, 11), 0u) << "the rest is the other's";
  EXPECT_EQ(take_all(1, 199, 12), 6u);
  EXPECT_EQ(take_all(1, 200, 13), 6u) << "as many share as in the round before";
  EXPECT_EQ(take_all(1, 250, 13), 12u) << "the others need no looks any more";
}

TEST_F(LookBudgetTest, AUserWithManyProcessesHasNoMoreThanAnother) {
  for (const pid_t process : {11, 12, 13}) take_all(1, 100, process);
  take_all(2, 100, 21);
  for (const pid_t process : {11, 12, 13}) EXPECT_EQ(take_all(1, 150, process), 2u);
  EXPECT_EQ(take_all(2, 150, 21), 6u);
}

// A hundredth, because all work of the agent for captures may take two hundredths (bench/captures).
TEST(LookBudget, UsuallyTakesAHundredthOfAProcessor) {
  LookBudget looks{LookBudget::Limits{}};
  uint64_t all_nano = 0;
  for (uint64_t now_nano = 0; now_nano < kNanosPerSecond; now_nano += kNanosPerMilli) {
    const uint64_t left_nano = looks.left_nano(1, 11, now_nano);
    looks.spend(1, 11, left_nano);
    all_nano += left_nano;
  }
  EXPECT_EQ(all_nano, kNanosPerSecond / 100);
}

}  // namespace
}  // namespace fathom::agent
