// What hostile captures may make a timeline take: memory, work and answers are the query's budget's.
#include <gtest/gtest.h>

#include "capture/encode.h"
#include "capture/format.h"
#include "query/captures.h"
#include "query/testing/sample_timeline.h"
#include "query/timeline/span_places.h"
#include "query/timeline/thread_items.h"
#include "query/timeline/timeline_query.h"
#include "store/model/memory_captures.h"
#include "store/model/memory_store.h"

namespace fathom::query {
namespace {

using testing::sample_capture;
using testing::sample_capture_id;
using testing::sample_capture_info;
using testing::sample_monotonic;
using testing::sample_trace_id;

constexpr uint64_t kMebi = 1 << 20;

class TimelineLimitsTest : public ::testing::Test {
 protected:
  void keep(const capture::Capture& content) {
    auto writer = captures_.begin(sample_capture_info(1));
    ASSERT_TRUE(writer.ok() && (*writer)->append(0, capture::encode(content)));
    ASSERT_EQ((*writer)->finish().outcome, store::AppendOutcome::kDurable);
  }
  Timeline built() {
    store::QueryBudget unlimited;
    auto timeline = build_timeline(stores(), kQuery, unlimited);
    EXPECT_TRUE(timeline.ok()) << timeline.error().message;
    return timeline ? *std::move(timeline) : Timeline{};
  }
  Stores stores() { return {spans_, &captures_}; }

  // How much more than it may an answer takes until that is noticed.
  template <typename Write>
  void expect_bounded(Write write, uint64_t item_bytes) {
    const Timeline timeline = built();
    store::QueryBudget budget(UINT64_MAX, kMebi);
    auto written = write(timeline, budget);
    ASSERT_FALSE(written.ok()) << written->size() << " bytes";
    EXPECT_EQ(written.error().code, ErrorCode::kExhausted);
    EXPECT_GT(budget.spent_bytes(), kMebi);
    EXPECT_LT(budget.spent_bytes(), kMebi + item_bytes);
  }

  const TimelineQuery kQuery{.subject = {.capture = sample_capture_id(1)}, .all = true};
  store::MemoryStore spans_;
  store::MemoryCaptures captures_;
};

std::string long_name() {
  return std::string(capture::format::kMostTextBytes, 'x');
}

TEST_F(TimelineLimitsTest, ALongNameOfManyEventsEndsTheAnswer) {
  capture::Capture content = sample_capture();
  content.tracepoints.push_back({long_name(), "a.cc", 1, {}});
  for (uint64_t i = 0; i < 1000; ++i) {
    content.threads[0].add_event({.monotonic_nano = content.end_nano, .tracepoint = 2}, {});
  }
  EXPECT_LT(capture::encode(content).size(), 10'000u);
  keep(content);
  expect_bounded(timeline_json, 3 * long_name().size());
  expect_bounded(timeline_perfetto, 3 * long_name().size());
}

TEST_F(TimelineLimitsTest, ManyKeysOfAnEventAreTakenOneByOne) {
  capture::Capture content = sample_capture();
  content.tracepoints.push_back({"large", "a.cc", 1, {}});
  std::vector<capture::Value> values;
  for (uint64_t i = 0; i < 100; ++i) {
    content.tracepoints.back().fields.push_back({std::to_string(i) + long_name(), capture::FieldType::kInteger});
    values.push_back(capture::Value::of_integer(1));
  }
  content.threads[0].add_event({.monotonic_nano = content.end_nano, .tracepoint = 2}, values);
  keep(content);
  expect_bounded(timeline_json, 3 * long_name().size());
  store::QueryBudget budget(UINT64_MAX, kMebi);
  EXPECT_FALSE(timeline_perfetto(built(), budget).ok());
}

TEST_F(TimelineLimitsTest, ALongNameOfAWakerEndsTheAnswer) {
  capture::Capture content = sample_capture();
  content.threads[0].kernel_events.clear();
  for (uint64_t i = 0; i < 300; ++i) {
    uint64_t at = content.kernel_complete_from_nano + 3 * i;
    using capture::KernelEventKind;
    content.threads[0].kernel_events.push_back(
        {.kind = KernelEventKind::kSwitchedOut, .reason = capture::SwitchReason::kSleeps, .monotonic_nano = at});
    content.threads[0].kernel_events.push_back(
        {.kind = KernelEventKind::kWoken, .monotonic_nano = at + 1, .other_tid = 99, .other_name = long_name()});
    content.threads[0].kernel_events.push_back(
        {.kind = KernelEventKind::kSwitchedIn, .monotonic_nano = at + 2, .other_tid = 99, .other_name = long_name()});
  }
  keep(content);
  expect_bounded(timeline_json, 3 * long_name().size());
  expect_bounded(timeline_perfetto, 4 * kMebi);  // a bundle of switches is one item
}

TEST_F(TimelineLimitsTest, TheCureIsATimelines) {
  keep(sample_capture());
  for (auto run : {run_timeline, run_perfetto}) {
    store::QueryBudget unlimited;
    ASSERT_TRUE(run(stores(), kQuery, unlimited).ok());
    store::QueryBudget budget(UINT64_MAX, unlimited.spent_bytes() - 1);
    auto answer = run(stores(), kQuery, budget);
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, ErrorCode::kExhausted);
    EXPECT_NE(answer.error().message.find("--capture"), std::string::npos) << answer.error().message;
    EXPECT_NE(answer.error().message.find("span=ID"), std::string::npos) << answer.error().message;
  }
}

// Of zeros, which compress: bytes that were read say nothing about it.
TEST_F(TimelineLimitsTest, AllThatWasDecodedIsSpent) {
  capture::Capture content = sample_capture();
  content.span_sets.emplace_back(20'000);
  content.tracepoints.resize(2'000);
  content.threads.back().open.resize(2'000);
  uint64_t bytes =
      20'000 * sizeof(capture::SpanRef) + 2'000 * sizeof(capture::Tracepoint) + 2'000 * sizeof(capture::OpenSpan);
  keep(content);
  auto stored = find_capture(stores(), sample_capture_id(1));
  ASSERT_TRUE(stored.ok());
  store::QueryBudget budget;
  ASSERT_TRUE(decoded_content(stores(), *stored, budget).ok());
  EXPECT_GT(budget.spent_bytes(), bytes);
  store::QueryBudget less(UINT64_MAX, bytes);
  EXPECT_EQ(decoded_content(stores(), *stored, less).error().code, ErrorCode::kExhausted);
  store::QueryBudget same(UINT64_MAX, bytes);
  auto timeline = build_timeline(stores(), kQuery, same);
  ASSERT_FALSE(timeline.ok()) << "a capture that does not fit any more is no damaged one";
  EXPECT_EQ(timeline.error().code, ErrorCode::kExhausted);
}

TEST_F(TimelineLimitsTest, ThreadsAndSpansAreSpent) {
  capture::Capture content = sample_capture();
  for (uint32_t i = 0; i < 1000; ++i) content.threads.push_back({.tid = 10'000 + i});
  keep(content);
  Timeline decoded = built();
  for (auto& process : decoded.processes) process.threads.clear();
  store::QueryBudget budget;
  ASSERT_TRUE(place_spans(decoded, budget).ok());
  EXPECT_EQ(decoded.processes.at(0).threads.size(), 1002u);
  EXPECT_GE(budget.spent_bytes(), 1002 * sizeof(TimelineThread));
}

// However many threads and events name a set.
TEST_F(TimelineLimitsTest, WhatCapturesMentionIsSpentOnce) {
  capture::Capture content = sample_capture();
  content.span_sets.emplace_back(100);
  for (size_t i = 0; i < 100; ++i) {
    content.span_sets.back()[i] = {sample_trace_id(1), testing::sample_span_id(100 + i)};
  }
  uint32_t set = static_cast<uint32_t>(content.span_sets.size() - 1);
  content.tracepoints.push_back({"plain", "a.cc", 1, {}});
  for (uint32_t i = 0; i < 100; ++i) {
    content.threads.push_back({.tid = 10'000 + i});
    content.threads.back().add_event({.monotonic_nano = content.end_nano - i, .tracepoint = 2, .spans = set}, {});
  }
  keep(content);
  Timeline timeline = built();
  for (auto& process : timeline.processes) process.threads.clear();
  store::QueryBudget budget;
  ASSERT_TRUE(place_spans(timeline, budget).ok());
  EXPECT_LT(budget.spent_bytes(), 102 * sizeof(TimelineThread) + 100'000);
  EXPECT_GT(budget.spent_bytes(), 102 * sizeof(TimelineThread) + 5'000);
}

TEST_F(TimelineLimitsTest, WhoHasGoneIsNotWorkedFor) {
  keep(sample_capture());
  Timeline timeline = built();
  for (auto& thread : timeline.processes.at(0).threads) thread = {.tid = thread.tid};
  store::QueryBudget cancelled;
  cancelled.cancel();
  auto filled = fill_threads(timeline, timeline.processes[0], {.all = true}, cancelled);
  ASSERT_FALSE(filled.ok());
  EXPECT_EQ(filled.error().code, ErrorCode::kCancelled);
  timeline.processes[0].threads.clear();
  auto placed = place_spans(timeline, cancelled);
  ASSERT_FALSE(placed.ok());
  EXPECT_EQ(placed.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(timeline_json(timeline, cancelled).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(timeline_perfetto(timeline, cancelled).error().code, ErrorCode::kCancelled);
}

// Calls that will not be told cost no totals.
TEST_F(TimelineLimitsTest, CallsBeyondTheLimitGetNoTotals) {
  keep(sample_capture());
  Timeline timeline = built();
  ASSERT_EQ(timeline.processes.at(0).threads.at(0).calls.size(), 2u);
  for (auto& thread : timeline.processes[0].threads) thread = {.tid = thread.tid};
  store::QueryBudget budget;
  ASSERT_TRUE(fill_threads(timeline, timeline.processes[0], {.all = true, .most_items = 1}, budget).ok());
  const auto& calls = timeline.processes[0].threads[0].calls;
  EXPECT_EQ(calls[0].totals.nano, StateTotals().nano);
  EXPECT_NE(calls[1].totals.nano, StateTotals().nano) << "the last one is told";
}

}  // namespace
}  // namespace fathom::query
