#include "node-agent/triggers/trigger_limits.h"

#include <gtest/gtest.h>

#include "node-agent/testing/nano.h"

namespace fathom::agent {
namespace {

using testing::kSecond;

TraceId trace(uint64_t number) {
  TraceId id;
  std::memcpy(id.bytes.data(), &number, sizeof number);
  return id;
}

class TriggerLimitsTest : public ::testing::Test {
 protected:
  std::optional<SkipReason> admit(CaptureTrigger trigger, uint64_t of_trace, uint64_t operation = 0,
                                  uint32_t program = 1) {
    return limits_.admit({trigger, program, of_trace == 0 ? TraceId{} : trace(of_trace), operation}, now_);
  }
  // How many of many.
  int admitted(CaptureTrigger trigger, int tries = 100) {
    int count = 0;
    for (int i = 0; i < tries; ++i) count += admit(trigger, ++next_trace_) ? 0 : 1;
    return count;
  }
  TriggerLimits limits_;
  uint64_t now_ = 1000 * kSecond;
  uint64_t next_trace_ = 1'000'000;
};

TEST_F(TriggerLimitsTest, EachKindHasItsOwnBucket) {
  EXPECT_EQ(admitted(CaptureTrigger::kError), 5);
  EXPECT_EQ(admitted(CaptureTrigger::kProgram), 10);
  EXPECT_EQ(admitted(CaptureTrigger::kCrash), 5);
  EXPECT_EQ(admitted(CaptureTrigger::kRemote), 10);
  EXPECT_EQ(admitted(CaptureTrigger::kRequested), 100);
}

TEST_F(TriggerLimitsTest, OverdueAndSlowShareOne) {
  EXPECT_EQ(admitted(CaptureTrigger::kOverdue, 6), 6);
  EXPECT_EQ(admitted(CaptureTrigger::kSlow), 4);
}

TEST_F(TriggerLimitsTest, BucketsFillAgain) {
  admitted(CaptureTrigger::kError);
  now_ += 3 * kSecond;
  EXPECT_EQ(admitted(CaptureTrigger::kError), 3);
  now_ += 1000 * kSecond;
  EXPECT_EQ(admitted(CaptureTrigger::kError), 5);
}

TEST_F(TriggerLimitsTest, AnOperationHasOneInTenSeconds) {
  EXPECT_EQ(admit(CaptureTrigger::kOverdue, 1, 42), std::nullopt);
  EXPECT_EQ(admit(CaptureTrigger::kSlow, 2, 42), SkipReason::kOperation);
  EXPECT_EQ(admit(CaptureTrigger::kSlow, 3, 43), std::nullopt);
  now_ += 10 * kSecond - 1;
  EXPECT_EQ(admit(CaptureTrigger::kSlow, 4, 42), SkipReason::kOperation);
  now_ += 1;
  EXPECT_EQ(admit(CaptureTrigger::kSlow, 4, 42), std::nullopt);
}

TEST_F(TriggerLimitsTest, WhatTookMuchLongerIsCapturedAllTheSame) {
  auto took = [&](uint64_t of_trace, uint64_t duration_nano, bool goes_on = false) {
    return limits_.admit({CaptureTrigger::kSlow, 1, trace(of_trace), 42, duration_nano, goes_on}, now_);
  };
  EXPECT_EQ(took(1, kSecond), std::nullopt);
  EXPECT_EQ(took(2, kSecond / 4 * 5), SkipReason::kOperation);
  EXPECT_EQ(took(3, kSecond / 4 * 5 + 5), std::nullopt);
  EXPECT_EQ(took(4, kSecond / 4 * 5 + 5), SkipReason::kOperation);
  EXPECT_EQ(took(5, 9 * kSecond, true), std::nullopt) << "the rest of what was captured as overdue";
  EXPECT_EQ(took(5, 9 * kSecond, true), std::nullopt) << "and a rest of that";
  EXPECT_EQ(took(6, 5 * kSecond), SkipReason::kOperation) << "the rest was longer";
  now_ += 10 * kSecond;
  EXPECT_EQ(took(7, 1), std::nullopt) << "a new turn";
  EXPECT_EQ(took(8, kSecond), std::nullopt) << "in which nothing was as long";
}

TEST_F(TriggerLimitsTest, ATraceIsCapturedOnceByEachKindInEachProcess) {
  EXPECT_EQ(admit(CaptureTrigger::kError, 7), std::nullopt);
  EXPECT_EQ(admit(CaptureTrigger::kError, 7), SkipReason::kSame);
  EXPECT_EQ(admit(CaptureTrigger::kError, 7, 0, 2), std::nullopt) << "another process";
  EXPECT_EQ(admit(CaptureTrigger::kSlow, 7), std::nullopt) << "another kind";
  EXPECT_EQ(admit(CaptureTrigger::kProgram, 0), std::nullopt);
  EXPECT_EQ(admit(CaptureTrigger::kProgram, 0), std::nullopt) << "of no trace";
  now_ += 60 * kSecond;
  EXPECT_EQ(admit(CaptureTrigger::kError, 7), std::nullopt);
}

TEST_F(TriggerLimitsTest, WhatIsSkippedTakesNothing) {
  EXPECT_EQ(admit(CaptureTrigger::kError, 7), std::nullopt);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(admit(CaptureTrigger::kError, 7), SkipReason::kSame);
  EXPECT_EQ(admitted(CaptureTrigger::kError), 4);
}

TEST_F(TriggerLimitsTest, WhatIsGivenBackWasNeverTakenButOfTheRate) {
  TriggerCause first{CaptureTrigger::kSlow, 1, trace(1), 42, kSecond},
      longer{CaptureTrigger::kSlow, 1, trace(2), 42, 2 * kSecond};
  EXPECT_EQ(limits_.admit(first, now_), std::nullopt);
  EXPECT_EQ(limits_.admit(longer, now_ + 1), std::nullopt);
  limits_.give_back(longer, now_ + 1);
  EXPECT_EQ(admit(CaptureTrigger::kSlow, 3, 42), SkipReason::kOperation) << "the first has its turn still";
  EXPECT_EQ(limits_.admit(longer, now_ + 2), std::nullopt) << "neither its trace nor its duration is known";
  limits_.give_back(first, now_);
  limits_.give_back(first, now_);
  EXPECT_EQ(limits_.admit(first, now_ + 3), SkipReason::kOperation) << "the longer one is";
  limits_.give_back(longer, now_ + 2);
  EXPECT_EQ(limits_.admit(first, now_ + 4), std::nullopt);
  EXPECT_EQ(admitted(CaptureTrigger::kSlow), 6);
}

TEST_F(TriggerLimitsTest, OfARestThatIsGivenBackWhatWasBeforeCounts) {
  TriggerCause rest{CaptureTrigger::kSlow, 1, trace(1), 42, kSecond, true};
  EXPECT_EQ(admit(CaptureTrigger::kSlow, 1, 42), std::nullopt);
  EXPECT_EQ(limits_.admit(rest, now_ + 1), std::nullopt);
  limits_.give_back(rest, now_ + 1);
  EXPECT_EQ(admit(CaptureTrigger::kSlow, 1, 42), SkipReason::kSame);
}

}  // namespace
}  // namespace fathom::agent
