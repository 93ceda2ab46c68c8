#include "node-agent/triggers/skipped_traces.h"

#include <gtest/gtest.h>

#include "base/metrics.h"
#include "base/time.h"
#include "ingest/limits.h"

namespace fathom::agent {
namespace {

class SkippedTracesTest : public ::testing::Test {
 protected:
  static ingest::SkippedCapture skipped(uint32_t number, CaptureTrigger trigger = CaptureTrigger::kSlow) {
    ingest::SkippedCapture one{.trigger = trigger, .reason = SkipReason::kRate, .pid = number};
    one.trace_id.bytes[0] = 1;
    return one;
  }
  // Notes traces with enough time between them that no rate limits them.
  void note_slowly(uint32_t first, uint32_t count) {
    for (uint32_t number = first; number < first + count; ++number)
      traces_.note(skipped(number), now_ += 1'000'000'000);
  }
  std::vector<uint32_t> numbers_handed_over(size_t most_messages = SIZE_MAX) {
    std::vector<uint32_t> numbers;
    traces_.hand_over([&](const ingest::SkippedCaptures& some) {
      EXPECT_LE(some.size(), ingest::kMostSkippedCaptures);
      if (messages_ == most_messages) return false;
      ++messages_;
      for (const ingest::SkippedCapture& one : some) numbers.push_back(one.pid);
      return true;
    });
    return numbers;
  }
  static uint64_t dropped() { return counter("fathom_agent_skip_reports_dropped_total", "").value(); }

  SkippedTraces traces_;
  uint64_t now_ = 1'000'000'000;
  size_t messages_ = 0;
};

TEST_F(SkippedTracesTest, AreHandedOverOnceTheOldestFirst) {
  note_slowly(1, 3);
  EXPECT_EQ(numbers_handed_over(), (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_TRUE(numbers_handed_over().empty());
}

TEST_F(SkippedTracesTest, WhatIsNotTakenComesAgain) {
  const auto most = static_cast<uint32_t>(ingest::kMostSkippedCaptures);
  note_slowly(1, most + 2);
  EXPECT_EQ(numbers_handed_over(1).size(), most);
  EXPECT_TRUE(numbers_handed_over(1).empty());
  EXPECT_EQ(numbers_handed_over(), (std::vector<uint32_t>{most + 1, most + 2}));
}

TEST_F(SkippedTracesTest, AFewMessagesAtATime) {
  note_slowly(1, SkippedTraces::kMost);
  EXPECT_EQ(numbers_handed_over().size(), SkippedTraces::kMostMessages * ingest::kMostSkippedCaptures);
  EXPECT_EQ(messages_, SkippedTraces::kMostMessages);
}

TEST_F(SkippedTracesTest, BeyondTheBoundTheOldestAreDroppedAndCounted) {
  const uint64_t before = dropped();
  note_slowly(1, SkippedTraces::kMost + 5);
  EXPECT_EQ(dropped(), before + 5);
  EXPECT_EQ(numbers_handed_over().front(), 6u);
}

TEST_F(SkippedTracesTest, EachTriggerHasARateOfItsOwn) {
  const auto note_all = [&](CaptureTrigger trigger) {
    const uint64_t before = dropped();
    for (uint32_t number = 0; number < 1000; ++number) traces_.note(skipped(number, trigger), now_);
    return 1000 - (dropped() - before);
  };
  EXPECT_EQ(note_all(CaptureTrigger::kError), 50u);
  EXPECT_EQ(note_all(CaptureTrigger::kProgram), 50u);
  EXPECT_EQ(note_all(CaptureTrigger::kRemote), 50u);
  EXPECT_EQ(note_all(CaptureTrigger::kSlow), 500u) << "failures do not take the place of slow ones";
  now_ += 70 * kNanosPerSecond;  // all subjects may be reported again
  EXPECT_EQ(note_all(CaptureTrigger::kError), 50u);
  now_ += 10 * kNanosPerSecond;
  EXPECT_EQ(note_all(CaptureTrigger::kError), 50u + 10u) << "those that were reported just now are not dropped";
}

TEST_F(SkippedTracesTest, OneReportOfATraceInAMinute) {
  const uint64_t before = dropped();
  traces_.note(skipped(1), now_);
  traces_.note(skipped(1), now_ + kNanosPerMinute - 1);
  traces_.note(skipped(2), now_);
  traces_.note(skipped(1, CaptureTrigger::kError), now_);
  ingest::SkippedCapture other = skipped(1);
  other.trace_id.bytes[0] = 2;
  traces_.note(other, now_);
  EXPECT_EQ(numbers_handed_over(), (std::vector<uint32_t>{1, 2, 1, 1})) << "another process, trigger, and trace";
  EXPECT_EQ(dropped(), before) << "the first one says why";
  traces_.note(skipped(1), now_ + kNanosPerMinute);
  EXPECT_EQ(numbers_handed_over(), std::vector<uint32_t>{1});
}

TEST_F(SkippedTracesTest, OneThatTheRateDropsMayBeReportedLater) {
  for (uint32_t number = 0; number <= 50; ++number) traces_.note(skipped(number, CaptureTrigger::kError), now_);
  traces_.note(skipped(50, CaptureTrigger::kError), now_ + kNanosPerSecond);
  const std::vector<uint32_t> numbers = numbers_handed_over();
  ASSERT_EQ(numbers.size(), 51u);
  EXPECT_EQ(numbers.back(), 50u);
}

TEST_F(SkippedTracesTest, WhatIsCapturedOrOfNoTraceIsNoReport) {
  ingest::SkippedCapture same = skipped(1), of_no_trace = skipped(2);
  same.reason = SkipReason::kSame;
  of_no_trace.trace_id = {};
  traces_.note(same, now_);
  traces_.note(of_no_trace, now_);
  EXPECT_TRUE(numbers_handed_over().empty());
}

}  // namespace
}  // namespace fathom::agent
