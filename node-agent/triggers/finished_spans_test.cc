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
  bool was_captured(uint32_t /*program*/, const TraceId& /*trace*/, const SpanId& /*span*/) const override {
    return captures_all;
  }
  bool captures_all = true;
  bool wants_request(uid_t /*user*/, uint64_t /*operation*/, uint64_t start_nano, uint64_t end_nano) override {
    return end_nano - start_nano >= wanted_nano;
  }
  void request(uint32_t /*program*/, uint64_t operation, FinishedSpan span) override {
    requests.emplace_back(operation, std::move(span));
  }
  uint64_t wanted_nano = kNever;
  std::vector<std::pair<uint64_t, FinishedSpan>> requests;
  std::vector<FinishedSpan> spans;
  uint32_t last_program = 0;
  LeftOutSpans left_out;
};

class FinishedSpansTest : public ::testing::Test {
 protected:
  FinishedSpansTest() {
    ThresholdBook book(kNever);
    finished_.set_thresholds(book.take({{"", "cart", "slow", 1, 1000}, {"", "cart", "fast", 1, 100}}, true));
    finished_.begin(5, 1000, "", "cart");
  }
  static SpanRecordView read(const std::string& record) {
    SpanRecordView span;
    EXPECT_TRUE(read_span(record, span));
    return span;
  }
  void note(uint64_t number, std::string_view name, uint64_t duration, uint8_t status = 0) {
    const std::string record = testing::make_record(number, name);
    SpanRecordView span = read(record);
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
  finished_.begin(0, 1000, "", "cart");
  note(10, "slow", 5000);
  finished_.finish();
  EXPECT_TRUE(sink_.spans.empty());
}

TEST_F(FinishedSpansTest, TracesAreRemembered) {
  note(10, "fast", 10);
  note(11, "fast", 70);
  finished_.begin(6, 1000, "", "cart");
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

TEST_F(FinishedSpansTest, WhatIsSlowAndWasNotCapturedTakesNoRoom) {
  sink_.captures_all = false;
  for (uint64_t number = 10; number < 1000; number += 10) note(number, "slow", 5000);
  note(2000, "fast", 1, 2);
  finished_.finish();
  ASSERT_EQ(sink_.spans.size(), 1u);
  EXPECT_EQ(sink_.spans[0].trigger, CaptureTrigger::kError);
}

// A span whose parent is in the same program is part of a request.
TEST_F(FinishedSpansTest, RequestsAreHandedOverAtOnce) {
  sink_.wanted_nano = 50;
  const std::string record = testing::make_record(10, "quick");
  SpanRecordView span = read(record);
  const auto note_with = [&](uint8_t parent, uint8_t flags, uint64_t duration) {
    span.head.parent_span_id[0] = parent;
    span.head.flags = flags;
    finished_.note(span, 10'000, 10'000 + duration);
  };
  note_with(0, 0, 49);
  note_with(7, 0, 50);
  EXPECT_TRUE(sink_.requests.empty());
  note_with(0, 0, 50);
  note_with(7, pool::kRemoteParent, 51);
  ASSERT_EQ(sink_.requests.size(), 2u);
  EXPECT_EQ(sink_.requests[0].second.name, "quick");
  EXPECT_EQ(sink_.requests[0].second.end_nano, 10'050u);
  EXPECT_EQ(sink_.requests[0].first, sink_.requests[1].first) << "one operation";
  finished_.finish();
  EXPECT_TRUE(sink_.spans.empty());
}

// Otherwise a rest that is not admitted would be counted and reported twice.
TEST_F(FinishedSpansTest, ASlowRequestIsHandedOverOnce) {
  sink_.wanted_nano = 2000;
  const std::string record = testing::make_record(10, "slow");
  SpanRecordView span = read(record);
  std::memset(span.head.parent_span_id, 0, sizeof span.head.parent_span_id);
  const auto note_of = [&](uint64_t duration, uint8_t status) {
    span.head.status = status;
    finished_.note(span, 10'000, 10'000 + duration);
  };
  note_of(2000, 0);
  finished_.finish();
  EXPECT_EQ(sink_.requests.size(), 1u);
  EXPECT_TRUE(sink_.spans.empty());
  finished_.begin(5, 1000, "", "cart");
  note_of(1999, 0);
  finished_.finish();
  EXPECT_EQ(sink_.requests.size(), 1u) << "it is not among the slowest";
  ASSERT_EQ(sink_.spans.size(), 1u) << "but was captured while it ran, and has a rest";
  EXPECT_EQ(sink_.spans[0].trigger, CaptureTrigger::kSlow);
  finished_.begin(5, 1000, "", "cart");
  note_of(2000, 2);
  finished_.finish();
  ASSERT_EQ(sink_.spans.size(), 2u) << "the error is a separate trigger";
  EXPECT_EQ(sink_.spans[1].trigger, CaptureTrigger::kError);
}

}  // namespace
}  // namespace fathom::agent
