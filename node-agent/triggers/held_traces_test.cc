#include "node-agent/triggers/held_traces.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "node-agent/testing/capture_worker_fixture.h"
#include "node-agent/triggers/capture_metrics.h"

namespace fathom::agent {
namespace {

class HeldTracesTest : public testing::CaptureWorkerTest {
 protected:
  void begin() {
    begin_worker();
    held_ = std::make_unique<HeldTraces>(
        options_.provisional, *admission_,
        [this](const TraceId& trace_id, const ProgramWindow&) { not_made_.push_back(trace_id.bytes[0]); });
  }
  bool hold(uint8_t number, uid_t user = 1000) {
    return held_->hold(program_of(user, user), trace_of(number), {now_ - 10, now_}, kNanosPerMinute, now_);
  }
  // Handles the next outcome. Returns whether its trace was taken meanwhile.
  bool make() {
    CaptureWorker::Outcome outcome = next_outcome();
    if (outcome.made) return held_->made(outcome.job, *std::move(outcome.made)) != nullptr;
    held_->skipped(outcome.job, outcome.skipped);
    return false;
  }
  void hold_and_make(uint8_t number, uid_t user = 1000) {
    ASSERT_TRUE(hold(number, user));
    EXPECT_FALSE(make());
  }

  // The reports about the trace after it is requested.
  std::vector<std::pair<int, SkipReason>> reported(uint8_t number) {
    EXPECT_TRUE(held_->take(trace_of(number)).contents.empty());
    return skipped();
  }
  static uint64_t counted(SkipReason reason) { return skipped_counter(CaptureTrigger::kRemote, reason).value(); }

  std::unique_ptr<HeldTraces> held_;
  std::vector<int> not_made_;  // traces whose windows take() returned
};

TEST_F(HeldTracesTest, WhatIsHeldIsTakenOnce) {
  begin();
  hold_and_make(1);
  EXPECT_FALSE(hold(1)) << "it is held already";
  EXPECT_EQ(held_->bytes(), 100u);
  EXPECT_EQ(held_->take(trace_of(1)).contents.size(), 1u);
  EXPECT_TRUE(held_->take(trace_of(1)).contents.empty());
  EXPECT_EQ(held_->bytes(), 0u);
}

TEST_F(HeldTracesTest, WhatIsTakenWhileItIsMadeIsHandedOn) {
  begin();
  ASSERT_TRUE(hold(1));
  const HeldTraces::Taken taken = held_->take(trace_of(1));
  EXPECT_TRUE(taken.contents.empty());
  ASSERT_EQ(taken.windows.size(), 1u) << "so that the window is not captured again";
  EXPECT_EQ(taken.windows[0].program, 1000u);
  EXPECT_EQ(taken.windows[0].window, (TimeWindow{now_ - 10, now_}));
  EXPECT_TRUE(make());
  EXPECT_EQ(held_->bytes(), 0u);
}

TEST_F(HeldTracesTest, ForSoLong) {
  begin();
  hold_and_make(1);
  now_ += kNanosPerMinute - 1;
  held_->step(now_);
  EXPECT_EQ(held_->bytes(), 100u);
  held_->step(++now_);
  EXPECT_EQ(held_->bytes(), 0u);
  EXPECT_TRUE(skipped().empty()) << "nobody wanted it";
}

TEST_F(HeldTracesTest, AnotherRequestForItProlongsIt) {
  begin();
  hold_and_make(1);
  EXPECT_FALSE(held_->hold(program_of(1000, 1000), trace_of(1), {now_ - 9, now_}, 2 * kNanosPerMinute, now_));
  held_->step(now_ + 2 * kNanosPerMinute - 1);
  EXPECT_EQ(held_->bytes(), 100u);
  held_->step(now_ + 2 * kNanosPerMinute);
  EXPECT_EQ(held_->bytes(), 0u);
}

TEST_F(HeldTracesTest, OfOneProgramEachWindowIsHeld) {
  begin();
  hold_and_make(1);
  ASSERT_TRUE(held_->hold(program_of(1000, 1000), trace_of(1), {now_ - 20, now_ - 10}, kNanosPerMinute, now_));
  EXPECT_FALSE(make());
  EXPECT_EQ(held_->take(trace_of(1)).contents.size(), 2u);
}

TEST_F(HeldTracesTest, WhatWasMadeForAnotherPurposeIsAdopted) {
  options_.provisional.most_held_bytes = 150;
  begin();
  hold_and_make(1);
  MadeContent content{.program = 7, .uid = 1000, .begin_nano = now_ - 5, .end_nano = now_};
  content.bytes = std::make_shared<const std::string>(100, 'c');
  held_->adopt(trace_of(2), content, now_ + kNanosPerMinute);
  EXPECT_EQ(held_->bytes(), 100u) << "the same bound";
  const HeldTraces::Taken taken = held_->take(trace_of(2));
  ASSERT_EQ(taken.contents.size(), 1u);
  EXPECT_EQ(taken.contents[0]->bytes, content.bytes);
  EXPECT_EQ(taken.windows.at(0).program, 7u);
}

// The worker does not start jobs that lie in the future, so its places stay taken.
TEST_F(HeldTracesTest, WhileTheWorkerIsBusyTheyWaitForIt) {
  options_.worker.most_waiting = 2;
  begin();
  const uint64_t real_nano = now_monotonic_nano();
  const auto hold_ahead = [&](uint8_t number) {
    return held_->hold(program_of(1), trace_of(number), {real_nano, real_nano + kNanosPerMinute}, kNanosPerHour, now_);
  };
  EXPECT_TRUE(hold_ahead(1));
  EXPECT_TRUE(hold_ahead(2)) << "half of the places are reserved for triggers";
  now_ += HeldTraces::kPatienceNano - 1;
  held_->step(now_);
  EXPECT_TRUE(reported(2).empty()) << "the job waits, and its trace is taken";
  held_->step(++now_);
  EXPECT_EQ(skipped(), (std::vector{std::pair{2, SkipReason::kBusy}}));
}

TEST_F(HeldTracesTest, OfTheUserWhoHasMostBytesTheOldestIsDropped) {
  options_.provisional.most_held_bytes = 350;
  begin();
  hold_and_make(1, 2000);
  for (uint8_t number : {2, 3, 4}) hold_and_make(number);
  EXPECT_EQ(reported(2), (std::vector{std::pair{2, SkipReason::kMemory}}));
  EXPECT_EQ(held_->take(trace_of(1)).contents.size(), 1u) << "the oldest of all is another user's";
}

TEST_F(HeldTracesTest, WhatIsNotHeldIsCountedAndReportedWhenItIsAskedFor) {
  options_.provisional.holds = {0.001, 1};
  begin();
  const uint64_t failed = counted(SkipReason::kFailed), rate = counted(SkipReason::kRate);
  fails_ = true;
  hold_and_make(1);
  EXPECT_FALSE(hold(2));
  EXPECT_FALSE(hold(3));
  EXPECT_EQ(counted(SkipReason::kFailed), failed + 1);
  EXPECT_EQ(counted(SkipReason::kRate), rate + 2);
  EXPECT_TRUE(skipped().empty()) << "most of them are never asked for";
  EXPECT_EQ(reported(2), (std::vector{std::pair{2, SkipReason::kRate}}));
  EXPECT_EQ(reported(1), (std::vector{std::pair{1, SkipReason::kFailed}}));
  EXPECT_TRUE(reported(2).empty()) << "once";
}

TEST_F(HeldTracesTest, WhatIsAskedForAndThenFailsIsReportedAtOnce) {
  begin();
  fails_ = true;
  ASSERT_TRUE(hold(1));
  EXPECT_TRUE(held_->take(trace_of(1)).contents.empty());
  ASSERT_TRUE(hold(2));
  EXPECT_FALSE(make());
  EXPECT_FALSE(make());
  EXPECT_EQ(skipped(), (std::vector{std::pair{1, SkipReason::kFailed}}));
  EXPECT_EQ(not_made_, std::vector<int>{1}) << "a later request captures it";
}

TEST_F(HeldTracesTest, WhatIsLargerThanAllThatMayBeHeldIsRefused) {
  options_.provisional.most_held_bytes = 99;
  begin();
  hold_and_make(1);
  EXPECT_EQ(held_->bytes(), 0u);
  EXPECT_EQ(reported(1), (std::vector{std::pair{1, SkipReason::kMemory}}));
}

TEST_F(HeldTracesTest, WhatIsRefusedIsRememberedForAsLongAsItWouldBeHeld) {
  options_.provisional.holds = {0.001, 0};
  begin();
  EXPECT_FALSE(hold(1));
  EXPECT_FALSE(hold(2));
  held_->step(now_ + kNanosPerMinute - 1);
  EXPECT_EQ(reported(1).size(), 1u);
  held_->step(now_ + kNanosPerMinute);
  EXPECT_TRUE(reported(2).empty());
}

TEST_F(HeldTracesTest, OfTooManyThatAreRefusedTheOldestAreForgottenAndCounted) {
  options_.provisional.holds = {0.001, 0};
  begin();
  const Counter& dropped = counter("fathom_agent_skip_reports_dropped_total", "");
  const uint64_t before = dropped.value();
  EXPECT_FALSE(hold(1));
  for (size_t i = 0; i < HeldTraces::kMostRefused; ++i) EXPECT_FALSE(hold(2));
  EXPECT_EQ(dropped.value(), before + 1);
  EXPECT_TRUE(reported(1).empty());
  EXPECT_EQ(reported(2).size(), 1u);
}

}  // namespace
}  // namespace fathom::agent
