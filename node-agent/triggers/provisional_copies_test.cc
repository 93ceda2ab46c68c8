// Tests the order and the number of copies of slow requests.
#include <gtest/gtest.h>

#include <latch>

#include "base/metrics.h"
#include "base/time.h"
#include "node-agent/testing/provisional_captures_fixture.h"

namespace fathom::agent {
namespace {

using ProvisionalCopiesTest = testing::ProvisionalCapturesTest;

TEST_F(ProvisionalCopiesTest, UsersTakeTurnsWithCopies) {
  options_.provisional.copies = {10, 2};
  begin();
  for (uint8_t number : {1, 2, 3}) ASSERT_TRUE(add(number, 5 * kNanosPerMilli, number * 100 * kNanosPerMilli, number));
  use_program(2);
  for (uint8_t number : {4, 5}) ASSERT_TRUE(add(number, 5 * kNanosPerMilli, number * 100 * kNanosPerMilli, number));
  work(2);
  EXPECT_EQ(copied_, (std::vector<int>{1, 4}));
  for (int i = 0; i < 3; ++i) {
    now_ += 150 * kNanosPerMilli;
    work(1);
  }
  EXPECT_EQ(copied_, (std::vector<int>{1, 4, 2, 5, 3}));
}

TEST_F(ProvisionalCopiesTest, WhatTookMostTimesItsThresholdIsCopiedFirst) {
  options_.provisional.copies = {10, 5};
  begin();
  ASSERT_TRUE(add(1, 90 * kNanosPerMilli, 0, 1, 100 * kNanosPerMilli));
  ASSERT_TRUE(add(2, 50 * kNanosPerMilli, 200 * kNanosPerMilli, 2));
  ASSERT_TRUE(add(3, 60 * kNanosPerMilli, 400 * kNanosPerMilli, 3));
  ASSERT_TRUE(add(4, 3 * kNanosPerMilli, 600 * kNanosPerMilli, 4, 1 * kNanosPerMilli));
  ASSERT_TRUE(add(5, 80 * kNanosPerMilli, 800 * kNanosPerMilli, 5, 40 * kNanosPerMilli));
  work(5);
  EXPECT_EQ(copied_, (std::vector<int>{4, 5, 3, 2, 1}));
}

TEST_F(ProvisionalCopiesTest, WhatIsChosenIsCopiedBeforeWhatMayBe) {
  options_.provisional.copies = {10, 2};
  begin();
  ASSERT_TRUE(add(1, 50 * kNanosPerMilli, 0, 1));
  ASSERT_TRUE(add(2, 5 * kNanosPerMilli, 100 * kNanosPerMilli, 2));
  EXPECT_EQ(provisional_->choose_trace(trace_of(2), now_).size(), 1u);
  work(2);
  EXPECT_EQ(copied_, (std::vector<int>{2, 1}));
}

// A minute of a busy node: at its beginning, each operation has two usual requests with a place, because nothing slower
// has come. Then each has a slow one, as often as the rate of copies allows. Slow requests of a fast operation are
// shorter than usual ones of a slow operation.
TEST_F(ProvisionalCopiesTest, OfManyOperationsTheSlowRequestOfEachIsCopied) {
  constexpr uint8_t kOperations = 200;
  constexpr uint8_t kUsual = 255;
  options_.provisional.slowest.per_minute = 2;
  options_.provisional.copies = {5, 1};
  begin();
  const auto threshold_of = [](uint8_t operation) { return (1 + operation % 40) * kNanosPerMilli; };
  for (uint8_t operation = 1; operation <= kOperations; ++operation) {
    const uint64_t threshold_nano = threshold_of(operation), ago_nano = operation * 100 * kNanosPerMilli;
    for (const uint64_t before_nano : {uint64_t{0}, 50 * kNanosPerMilli})
      ASSERT_TRUE(add(kUsual, threshold_nano / 2, ago_nano + before_nano, operation, threshold_nano));
  }
  std::vector<int> expected;
  for (uint8_t operation = 1; operation <= kOperations; ++operation) {
    now_ += 250 * kNanosPerMilli;
    const uint64_t threshold_nano = threshold_of(operation);
    ASSERT_TRUE(add(operation, 3 * threshold_nano, 0, operation, threshold_nano));
    work(1);
    expected.push_back(operation);
  }
  EXPECT_EQ(copied_, expected);
}

TEST_F(ProvisionalCopiesTest, WhoeverWaitsTooLongForItsTurnIsSkipped) {
  options_.provisional.copies = {0, 1};
  begin();
  ASSERT_TRUE(add(1, 50 * kNanosPerMilli, 0, 1));
  ASSERT_TRUE(add(2, 5 * kNanosPerMilli, 100 * kNanosPerMilli, 2));
  work(1);
  ASSERT_TRUE(add(3, 5 * kNanosPerMilli, 10 * kNanosPerMilli, 3)) << "within what is copied";
  now_ += 200 * kNanosPerMilli;
  step();
  now_ += options_.provisional.longest_copy_wait_nano - 200 * kNanosPerMilli;
  step();
  EXPECT_TRUE(skipped().empty());
  EXPECT_EQ(announced_, std::vector<int>{1}) << "the third one waits behind the second";
  now_ += 400 * kNanosPerMilli;
  step();
  EXPECT_EQ(skipped(), (std::vector{std::pair{2, SkipReason::kRate}}));
  EXPECT_EQ(announced_, (std::vector<int>{1, 3})) << "it has the first one's copy";
  EXPECT_EQ(provisional_->waiting(), 2u);
  EXPECT_FALSE(add(4, 4 * kNanosPerMilli, 0, 2)) << "its place stays taken";
}

// The delay of its copy is part of the wait: recorders do not hold it for longer because it is usual.
TEST_F(ProvisionalCopiesTest, AUsualRequestWaitsNoLongerThanAnother) {
  options_.provisional.copies = {0, 1};
  options_.provisional.copy_usual_after_nano = 8 * kNanosPerSecond;
  begin();
  ASSERT_TRUE(add(1, 50 * kNanosPerMilli, 1 * kNanosPerSecond, 1));
  work(1);
  ASSERT_TRUE(add(2, 5 * kNanosPerMilli, 0, 2, 100 * kNanosPerMilli));
  const uint64_t ended_nano = now_;
  now_ = ended_nano + 8 * kNanosPerSecond + 100 * kNanosPerMilli;
  step();
  now_ = ended_nano + options_.provisional.longest_copy_wait_nano - 100 * kNanosPerMilli;
  step();
  EXPECT_TRUE(skipped().empty());
  now_ = ended_nano + options_.provisional.longest_copy_wait_nano + 300 * kNanosPerMilli;
  step();
  EXPECT_EQ(skipped(), (std::vector{std::pair{2, SkipReason::kRate}}));
}

TEST_F(ProvisionalCopiesTest, ABusyWorkerUsesUpNoneOfTheRate) {
  options_.worker.most_jobs = 2;  // half of them, one, for provisional captures
  options_.provisional.copies = {0, 2};
  begin();
  std::latch may_go_on(1);
  stop_worker(may_go_on);
  for (uint8_t number : {1, 2}) EXPECT_TRUE(add(number, 5 * kNanosPerMilli, number * 100 * kNanosPerMilli, number));
  for (int i = 0; i < 5; ++i) {
    step();
    now_ += 200 * kNanosPerMilli;
  }
  may_go_on.count_down();
  work(1);
  now_ += 200 * kNanosPerMilli;
  work(1);
  EXPECT_EQ(copied_, (std::vector<int>{1, 2}));
}

TEST_F(ProvisionalCopiesTest, WhoeverWaitsTooLongForABusyWorkerIsSkipped) {
  options_.worker.most_jobs = 2;
  begin();
  std::latch may_go_on(1);
  stop_worker(may_go_on);
  for (uint8_t number : {1, 2}) EXPECT_TRUE(add(number, 5 * kNanosPerMilli, number * 100 * kNanosPerMilli, number));
  step();
  now_ += options_.provisional.longest_copy_wait_nano + 200 * kNanosPerMilli;
  step();
  EXPECT_EQ(skipped(), (std::vector{std::pair{2, SkipReason::kBusy}}));
  may_go_on.count_down();
  work(1);
  EXPECT_EQ(copied_, std::vector<int>{1});
}

}  // namespace
}  // namespace fathom::agent
