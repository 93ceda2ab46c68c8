#include "node-agent/triggers/provisional_captures.h"

#include <gtest/gtest.h>

#include <latch>

#include "base/metrics.h"
#include "base/time.h"
#include "node-agent/testing/provisional_captures_fixture.h"

namespace fathom::agent {
namespace {

using ProvisionalCapturesTest = testing::ProvisionalCapturesTest;

TEST_F(ProvisionalCapturesTest, ASlowerOneTakesThePlaceOfWhatWasMade) {
  begin();
  ASSERT_TRUE(add(1, 5 * kNanosPerMilli));
  work(1);
  EXPECT_EQ(provisional_->bytes(), 100u);
  EXPECT_FALSE(add(2, 4 * kNanosPerMilli));
  ASSERT_TRUE(add(3, 6 * kNanosPerMilli));
  EXPECT_EQ(provisional_->bytes(), 0u) << "the first is dropped";
  work(1);
  EXPECT_EQ(provisional_->bytes(), 100u);
  EXPECT_EQ(provisional_->waiting(), 1u);
  EXPECT_TRUE(sent_.empty()) << "the minute is not over";
  EXPECT_EQ(announced_, (std::vector<int>{1, 3}));
}

TEST_F(ProvisionalCapturesTest, WhoeverIsOvertakenBeforeItsCopyIsDueIsNotCopied) {
  options_.provisional.copy_after_nano = 50 * kNanosPerMilli;
  begin();
  ASSERT_TRUE(add(1, 5 * kNanosPerMilli));
  now_ += 49 * kNanosPerMilli;
  step();
  ASSERT_TRUE(add(2, 6 * kNanosPerMilli));
  now_ += 50 * kNanosPerMilli;
  work(1);
  EXPECT_EQ(copied_, std::vector<int>{2});
  EXPECT_EQ(provisional_->waiting(), 1u);
}

// A slower request usually follows. The end of the minute copies such a request at once.
TEST_F(ProvisionalCapturesTest, WhatTookAsLongAsUsualIsCopiedLater) {
  options_.provisional.copy_after_nano = 50 * kNanosPerMilli;
  options_.provisional.copy_usual_after_nano = 90 * kNanosPerMilli;
  begin();
  ASSERT_TRUE(add(1, 4 * kNanosPerMilli, 0, kOperation, 10 * kNanosPerMilli));
  use_program(2);  // its requests share no content with the first program's
  ASSERT_TRUE(add(2, 5 * kNanosPerMilli, 0, kOperation, 10 * kNanosPerMilli));
  now_ += 89 * kNanosPerMilli;
  work(1);
  EXPECT_EQ(copied_, std::vector<int>{2});
  now_ += kNanosPerMilli;
  work(1);
  EXPECT_EQ(copied_, (std::vector<int>{2, 1}));
}

TEST_F(ProvisionalCapturesTest, HoldsLastUntilTheMinuteIsOverAndALittleLonger) {
  options_.provisional.minute_nano = kNanosPerMinute;
  options_.provisional.close_after_nano = 5 * kNanosPerSecond;
  calendar_ahead_nano_ = 40 * kNanosPerSecond - now_ % kNanosPerMinute;
  begin();
  ASSERT_TRUE(add(1, 8 * kNanosPerMilli));
  work(1);
  EXPECT_EQ(held_for_nano_, (20 + 5 + 30) * kNanosPerSecond);
}

TEST_F(ProvisionalCapturesTest, WhatIsToBeHeldIsHandedOnWhenItLosesItsPlace) {
  begin();
  ASSERT_TRUE(add(1, 5 * kNanosPerMilli));
  work(1);
  const std::vector<ProgramWindow> kept = provisional_->hold(trace_of(1), 0, now_ + kNanosPerMinute);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].program, 1u);
  EXPECT_EQ(kept[0].window, (TimeWindow{now_ - 5 * kNanosPerMilli, now_}));
  ASSERT_TRUE(add(2, 6 * kNanosPerMilli));
  ASSERT_EQ(handed_on_.size(), 1u);
  EXPECT_EQ(handed_on_[0].trace_id, trace_of(1));
  EXPECT_TRUE(handed_on_[0].content);
  EXPECT_EQ(handed_on_[0].until_nano, now_ + kNanosPerMinute);
  provisional_->hold(trace_of(2), 0, now_ + kNanosPerMinute);
  ASSERT_TRUE(add(3, 7 * kNanosPerMilli));
  ASSERT_EQ(handed_on_.size(), 2u);
  EXPECT_FALSE(handed_on_[1].content) << "it is not made yet";
  EXPECT_EQ(handed_on_[1].program, program_);
  EXPECT_EQ(handed_on_[1].window, (TimeWindow{now_ - 6 * kNanosPerMilli, now_}));
  provisional_->hold(trace_of(3), program_->serial, now_ + kNanosPerMinute);
  ASSERT_TRUE(add(4, 8 * kNanosPerMilli));
  EXPECT_EQ(handed_on_.size(), 2u) << "its own announcement does not keep it";
}

TEST_F(ProvisionalCapturesTest, WhatIsToBeHeldIsHandedOnWhenThereIsNoMemoryForIt) {
  options_.provisional.most_bytes = 150;
  begin();
  ASSERT_TRUE(add(1, 5 * kNanosPerMilli, 0, 1));
  work(1);
  provisional_->hold(trace_of(1), 0, now_ + kNanosPerMinute);
  ASSERT_TRUE(add(2, 9 * kNanosPerMilli, 100 * kNanosPerMilli, 2));
  work(1);
  ASSERT_EQ(handed_on_.size(), 1u);
  EXPECT_EQ(handed_on_[0].trace_id, trace_of(1));
  EXPECT_TRUE(handed_on_[0].content);
}

TEST_F(ProvisionalCapturesTest, WhatAnotherProcessChoseIsSentThoughItLosesItsPlace) {
  begin();
  ASSERT_TRUE(add(1, 5 * kNanosPerMilli, 100 * kNanosPerMilli));
  provisional_->choose_trace(trace_of(1), now_);
  ASSERT_TRUE(add(2, 6 * kNanosPerMilli));
  work(2);
  EXPECT_EQ(numbers_sent(), std::vector<int>{1});
}

TEST_F(ProvisionalCapturesTest, AtTheEndOfAMinuteItsSlowestAreSent) {
  options_.provisional.minute_nano = 200 * kNanosPerMilli;
  calendar_ahead_nano_ = 100 * kNanosPerMilli - now_ % options_.provisional.minute_nano;  // in the middle of a minute
  begin();
  for (uint8_t number = 1; number <= 3; ++number)
    ASSERT_TRUE(add(number, number * kNanosPerMilli, 10 * kNanosPerMilli));
  ASSERT_TRUE(add(4, 2 * kNanosPerMilli, 10 * kNanosPerMilli, kOperation + 1));
  work(1);
  now_ += 99 * kNanosPerMilli;
  step();
  EXPECT_TRUE(sent_.empty());
  now_ += kNanosPerMilli;
  step();
  std::vector<int> numbers = numbers_sent();
  std::ranges::sort(numbers);
  EXPECT_EQ(numbers, (std::vector<int>{3, 4}));
  EXPECT_EQ(contents_[0], contents_[1]) << "their times overlap: one content";
  EXPECT_EQ(provisional_->waiting(), 0u);
  EXPECT_EQ(provisional_->bytes(), 0u);
}

TEST_F(ProvisionalCapturesTest, WhenTheCalendarIsSetAllThatIsMadeIsSent) {
  begin();
  ASSERT_TRUE(add(1, 5 * kNanosPerMilli));
  work(1);
  calendar_ahead_nano_ -= 4 * kNanosPerSecond;
  step();
  EXPECT_TRUE(sent_.empty()) << "it drifts";
  calendar_ahead_nano_ -= 5 * kNanosPerSecond;
  step();
  EXPECT_EQ(numbers_sent(), std::vector<int>{1});
  EXPECT_TRUE(add(2, 4 * kNanosPerMilli)) << "a new count begins";
}

TEST_F(ProvisionalCapturesTest, WhoeverEndsAfterItsMinuteIsSentAtOnce) {
  options_.provisional.minute_nano = 20 * kNanosPerMilli;
  begin();
  step();
  ASSERT_TRUE(add(1, 90 * kNanosPerMilli));
  work(1);
  EXPECT_EQ(numbers_sent(), std::vector<int>{1});
}

TEST_F(ProvisionalCapturesTest, RequestsOfOneStallShareOneContent) {
  begin();
  const auto all = [&](uint64_t first, uint64_t ago_nano) {
    for (uint8_t i = 0; i < 5; ++i)
      ASSERT_TRUE(add(static_cast<uint8_t>(first + i), 30 * kNanosPerMilli, ago_nano + i * kNanosPerMilli, first + i));
  };
  all(10, 0);
  all(20, 10'000 * kNanosPerMilli);
  work(2);
  EXPECT_EQ(provisional_->waiting(), 10u);
  EXPECT_EQ(provisional_->bytes(), 200u);
  ASSERT_TRUE(add(40, 10 * kNanosPerMilli, 5 * kNanosPerMilli, 40)) << "within what was made";
  step();
  EXPECT_EQ(announced_.back(), 40) << "it has its content already";
  EXPECT_EQ(provisional_->bytes(), 200u);
}

TEST_F(ProvisionalCapturesTest, BeyondTheBoundTheShortestIsDropped) {
  options_.provisional.most_bytes = 250;
  begin();
  Counter& skipped = counter("fathom_agent_captures_skipped_total", "", "trigger=\"slow\",reason=\"memory\"");
  const uint64_t before = skipped.value();
  ASSERT_TRUE(add(1, 5 * kNanosPerMilli, 0, 1));
  work(1);
  ASSERT_TRUE(add(2, 3 * kNanosPerMilli, 100 * kNanosPerMilli, 2));
  work(1);
  ASSERT_TRUE(add(3, 9 * kNanosPerMilli, 200 * kNanosPerMilli, 3));
  work(1);
  EXPECT_EQ(provisional_->bytes(), 200u);
  EXPECT_EQ(skipped.value(), before + 1);
  EXPECT_EQ(this->skipped(), (std::vector{std::pair{2, SkipReason::kMemory}}));
  EXPECT_FALSE(add(4, 2 * kNanosPerMilli, 0, 2)) << "its place stays taken";
}

TEST_F(ProvisionalCapturesTest, OfTheUserWhoHasMostBytesTheShortestIsDropped) {
  options_.provisional.most_bytes = 250;
  begin();
  ASSERT_TRUE(add(1, 9 * kNanosPerMilli, 0, 1));
  work(1);
  use_program(2);
  ASSERT_TRUE(add(2, 1 * kNanosPerMilli, 100 * kNanosPerMilli, 2));
  work(1);
  use_program(1);
  ASSERT_TRUE(add(3, 8 * kNanosPerMilli, 200 * kNanosPerMilli, 3));
  work(1);
  EXPECT_EQ(skipped(), (std::vector{std::pair{3, SkipReason::kMemory}})) << "another user's is shorter";
  EXPECT_TRUE(has(2, 2));
}

TEST_F(ProvisionalCapturesTest, AUsersManyRequestsDoNotKeepOutAnothers) {
  options_.provisional.most_candidates = 3;
  begin();
  for (uint8_t number : {1, 2, 3}) ASSERT_TRUE(add(number, (10u - number) * kNanosPerMilli, 0, number));
  use_program(2);
  ASSERT_TRUE(add(4, 1 * kNanosPerMilli, 0, 4));
  EXPECT_EQ(skipped(), (std::vector{std::pair{3, SkipReason::kBusy}})) << "the shortest of the user with the most";
  EXPECT_TRUE(has(2, 4));
  ASSERT_TRUE(add(5, 1 * kNanosPerMilli, 0, 5));
  EXPECT_EQ(skipped(), (std::vector{std::pair{5, SkipReason::kBusy}})) << "no user has at least two more";
}

TEST_F(ProvisionalCapturesTest, WhatComesTooLateIsCounted) {
  options_.provisional.minute_nano = kNanosPerSecond;
  begin();
  step();
  const uint64_t start_nano = now_ - kNanosPerSecond;
  const auto add_late = [&](uint8_t number, uint64_t began_nano) {
    FinishedSpan span{.name = "work", .start_nano = began_nano, .end_nano = now_ + number};
    span.trace_id = trace_of(number);
    EXPECT_TRUE(provisional_->wants(program_->uid, kOperation, span.start_nano, span.end_nano)) << int{number};
    return provisional_->add(program_, span, kOperation);
  };
  EXPECT_TRUE(add_late(1, start_nano));
  EXPECT_FALSE(add_late(2, start_nano)) << "one more comes late";
  EXPECT_FALSE(add_late(3, now_ - 10 * kNanosPerSecond)) << "its minute is forgotten";
  EXPECT_EQ(skipped(), (std::vector{std::pair{2, SkipReason::kTooLate}, std::pair{3, SkipReason::kTooLate}}));
}

TEST_F(ProvisionalCapturesTest, AtTheAgentsEndWhatIsMadeIsSent) {
  options_.provisional.copy_after_nano = 50 * kNanosPerMilli;
  begin();
  ASSERT_TRUE(add(1, 5 * kNanosPerMilli, 100 * kNanosPerMilli, 1));
  work(1);
  ASSERT_TRUE(add(2, 5 * kNanosPerMilli, 0, 2));
  provisional_->finish();
  EXPECT_EQ(numbers_sent(), std::vector<int>{1});
  EXPECT_EQ(provisional_->waiting(), 0u);
  EXPECT_EQ(skipped(), (std::vector{std::pair{2, SkipReason::kBusy}}));
}

TEST_F(ProvisionalCapturesTest, AtTheAgentsEndTheLongestIsSentFirst) {
  begin();
  for (uint8_t number : {1, 3, 2})
    ASSERT_TRUE(add(number, number * kNanosPerMilli, number * 100 * kNanosPerMilli, number));
  work(3);
  provisional_->finish();
  EXPECT_EQ(numbers_sent(), (std::vector<int>{3, 2, 1}));
}

TEST_F(ProvisionalCapturesTest, BeyondTheBoundOfCandidatesTheyAreSkipped) {
  options_.provisional.most_candidates = 1;
  begin();
  ASSERT_TRUE(add(1, 5 * kNanosPerMilli, 0, 1));
  ASSERT_TRUE(add(2, 5 * kNanosPerMilli, 0, 2));
  EXPECT_EQ(skipped(), (std::vector{std::pair{2, SkipReason::kBusy}}));
}

TEST_F(ProvisionalCapturesTest, OfTooManyOperationsOneRequestPerSecondIsReported) {
  options_.provisional.slowest.most_operations_of_user = 1;
  begin();
  Counter& counted = counter("fathom_agent_captures_skipped_total", "", "trigger=\"slow\",reason=\"operations\"");
  const uint64_t before = counted.value();
  ASSERT_TRUE(add(1, 5 * kNanosPerMilli, 0, 1));
  const auto refuse = [&](uint8_t number) {
    FinishedSpan span{.name = "work", .start_nano = now_ - 5 * kNanosPerMilli, .end_nano = now_};
    span.trace_id = trace_of(number);
    if (!provisional_->wants(program_->uid, number, span.start_nano, span.end_nano)) return;
    EXPECT_FALSE(provisional_->add(program_, span, number));
  };
  step();
  for (uint8_t number = 2; number < 100; ++number) refuse(number);
  now_ += kNanosPerSecond;
  step();
  for (uint8_t number = 100; number < 200; ++number) refuse(number);
  EXPECT_EQ(skipped(), (std::vector{std::pair{2, SkipReason::kOperations}, std::pair{100, SkipReason::kOperations}}));
  EXPECT_EQ(counted.value(), before + 198) << "each once";
}

TEST_F(ProvisionalCapturesTest, WhatAnotherNodeChoseIsSent) {
  begin();
  ASSERT_TRUE(add(1, 5 * kNanosPerMilli, 100 * kNanosPerMilli, 1));
  work(1);
  const TraceId trace = trace_of(1);
  const std::vector<ProgramWindow> chosen = provisional_->choose_trace(trace, now_);
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen[0].program, 1u);
  EXPECT_EQ(numbers_sent(), std::vector<int>{1});
  EXPECT_TRUE(provisional_->choose_trace(trace, now_).empty());
}

TEST_F(ProvisionalCapturesTest, WhatFailsIsCounted) {
  begin();
  fails_ = true;
  Counter& skipped = counter("fathom_agent_captures_skipped_total", "", "trigger=\"slow\",reason=\"failed\"");
  const uint64_t before = skipped.value();
  ASSERT_TRUE(add(1, 5 * kNanosPerMilli));
  work(1);
  EXPECT_EQ(skipped.value(), before + 1);
  EXPECT_EQ(this->skipped(), (std::vector{std::pair{1, SkipReason::kFailed}}));
  EXPECT_EQ(not_made_, std::vector<int>{1});
  EXPECT_EQ(provisional_->waiting(), 0u);
}

}  // namespace
}  // namespace fathom::agent
