#include "node-agent/triggers/finished_spans.h"

#include <gtest/gtest.h>

#include "node-agent/testing/scripted_pool.h"

namespace fathom::agent {
namespace {

struct SpanRecorder : FinishedSpanSink {
  void finished(uint32_t program, std::vector<FinishedSpan> found, const LeftOutSpans& more) override {
    last_program = program;
    for (FinishedSpan& span : found) spans.push_back(std::move(span));
    for (const auto& [what, count] : more) left_out[what] += count;
  }
  std::vector<FinishedSpan> spans;
  uint32_t last_program = 0;
  LeftOutSpans left_out;
};

class FinishedSpansTest : public ::testing::Test {
 protected:
  FinishedSpansTest() {
    ThresholdBook book(kNever);
    finished_.set_thresholds(book.take({{"", "cart", "slow", 1, 1000}, {"", "cart", "fast", 1, 100}}, true));
    finished_.begin(5, "", "cart");
  }
  void note(uint64_t number, std::string_view name, uint64_t duration, uint8_t status = 0) {
    std::string record = testing::make_record(number, name);
    SpanRecordView span;
    ASSERT_TRUE(read_span(record, span));
    span.head.status = status;
    finished_.note(span, 10'000, 10'000 + duration);
  }
  TraceMemory traces_{64};
  SpanRecorder sink_;
  FinishedSpans finished_{traces_, sink_};
};

TEST_F(FinishedSpansTest, SlowIsByOperation) {
  note(10, "slow", 999);
  note(20, "fast", 100);
  note(30, "slow", 1000);
  note(40, "unknown", 100'000);
  finished_.finish();
  ASSERT_EQ(sink_.spans.size(), 2u);
  EXPECT_EQ(sink_.spans[0].name, "fast");
  EXPECT_EQ(sink_.spans[1].name, "slow");
  EXPECT_EQ(sink_.spans[1].trigger, CaptureTrigger::kSlow);
  EXPECT_EQ(sink_.spans[1].threshold_nano, 1000u);
  EXPECT_EQ(sink_.last_program, 5u);
}

TEST_F(FinishedSpansTest, FailedIsWhateverItTook) {
  note(10, "fast", 1, 2);
  note(20, "fast", 1, 1);
  finished_.finish();
  ASSERT_EQ(sink_.spans.size(), 1u);
  EXPECT_EQ(sink_.spans[0].trigger, CaptureTrigger::kError);
}

TEST_F(FinishedSpansTest, OfATraceTheLongestOfEachKind) {
  note(10, "fast", 200);
  note(11, "slow", 5000, 2);
  note(12, "fast", 300, 2);
  finished_.finish();
  ASSERT_EQ(sink_.spans.size(), 2u);
  EXPECT_EQ(sink_.spans[0].name, "slow");
  EXPECT_EQ(sink_.spans[1].name, "slow");
  EXPECT_NE(sink_.spans[0].trigger, sink_.spans[1].trigger);
  EXPECT_EQ(sink_.left_out, (LeftOutSpans{{{CaptureTrigger::kSlow, SkipReason::kSame}, 2},
                                          {{CaptureTrigger::kError, SkipReason::kSame}, 1}}));
}

TEST_F(FinishedSpansTest, ABatchGivesABoundedNumber) {
  for (uint64_t trace = 0; trace < 100; ++trace) note(trace * 10, "fast", 500);
  for (uint64_t trace = 100; trace < 110; ++trace) note(trace * 10, "fast", 5, 2);
  finished_.finish();
  EXPECT_EQ(sink_.spans.size(), FinishedSpans::kMostOfBatch);
  EXPECT_EQ(sink_.left_out,
            (LeftOutSpans{{{CaptureTrigger::kSlow, SkipReason::kRate}, 100 - FinishedSpans::kMostOfBatch},
                          {{CaptureTrigger::kError, SkipReason::kRate}, 10}}));
}

TEST_F(FinishedSpansTest, ProgramsThatAreNotWatchedGiveNone) {
  finished_.finish();
  finished_.begin(0, "", "cart");
  note(10, "slow", 5000);
  finished_.finish();
  EXPECT_TRUE(sink_.spans.empty());
}

TEST_F(FinishedSpansTest, TracesAreRemembered) {
  note(10, "fast", 10);
  note(11, "fast", 70);
  finished_.begin(6, "", "cart");
  note(12, "fast", 30);
  TraceId id;
  id.bytes[0] = 2;
  std::vector<TraceMemory::Stay> stays = traces_.find(id, 20'000);
  ASSERT_EQ(stays.size(), 2u);
  EXPECT_EQ(stays[0].program, 5u);
  EXPECT_EQ(stays[0].start_nano, 10'000u);
  EXPECT_EQ(stays[0].end_nano, 10'070u);
  EXPECT_EQ(stays[1].program, 6u);
  EXPECT_TRUE(traces_.find(id, 20'000 + TraceMemory::kKeepNano + 10'000'000).empty());
  for (uint64_t trace = 10; trace < 100; ++trace) note(trace * 10, "fast", 1);
  EXPECT_TRUE(traces_.find(id, 20'000).empty()) << "the oldest are forgotten";
}

}  // namespace
}  // namespace fathom::agent
