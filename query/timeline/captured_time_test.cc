#include "query/timeline/captured_time.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "capture/encode.h"
#include "query/testing/sample_timeline.h"
#include "query/timeline/timeline_query.h"

namespace fathom::query {
namespace {

using testing::kMilli;
using testing::kSampleStart;
using testing::sample_capture;
using testing::sample_capture_info;
using testing::sample_monotonic;
using testing::sample_span_id;
using testing::sample_trace_id;

// A process without captures of other requests.
class CapturedTimeTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kTrace = 2;
  static constexpr uint32_t kPid = 600;

  static store::NodeId node() { return sample_capture_info(1).node_id; }
  // Times are milliseconds after kSampleStart.
  void add_part(uint64_t begin_milli, uint64_t end_milli, bool jumps = false) {
    capture::Capture content = sample_capture();
    content.threads.clear();
    content.service = "pay";
    content.pid = kPid;
    content.begin_nano = content.events_complete_from_nano = sample_monotonic(begin_milli * 1000);
    content.kernel_complete_from_nano = content.begin_nano;
    content.end_nano = content.trigger_nano = sample_monotonic(end_milli * 1000);
    add_content(capture::encode(content), begin_milli, end_milli, jumps);
  }
  void add_content(const std::string& content, uint64_t begin_milli, uint64_t end_milli, bool jumps = false) {
    store::CaptureInfo info = sample_capture_info(next_capture_++);
    info.trace_id = sample_trace_id(kTrace);
    info.service = "pay";
    info.pid = kPid;
    info.start_unix_nano = kSampleStart + begin_milli * kMilli;
    info.end_unix_nano = kSampleStart + end_milli * kMilli;
    info.crosses_clock_jump = jumps;
    sample_.add_capture(info, content);
  }
  void add_span(uint64_t begin_nano, uint64_t end_nano) {
    store::SpanView span{.trace_id = sample_trace_id(kTrace), .span_id = sample_span_id(next_span_++), .name = "work"};
    span.start_unix_nano = kSampleStart + begin_nano;
    span.end_unix_nano = kSampleStart + end_nano;
    sample_.add_span(span, "pay", kPid);
  }
  std::string explanation() {
    Stores stores = sample_.stores();
    stores.nodes = [] {
      return std::vector<NodeRow>{{.node_id = node().hex(), .host_name = "shop-1", .reports_skipped_captures = true}};
    };
    TimelineQuery query{.subject = {.trace = sample_trace_id(kTrace)}};
    query.now_unix_nano = now_unix_nano_;
    store::QueryBudget budget;
    const auto timeline = build_timeline(stores, query, budget);
    EXPECT_TRUE(timeline.ok()) << timeline.error().message;
    if (!timeline) return "";
    EXPECT_EQ(timeline->processes.size(), 1u);
    const std::optional<NoCapture>& none = timeline->processes.at(0).no_capture;
    EXPECT_TRUE(!none || none->is_partial);
    return none ? none->explanation : "";
  }

  testing::SampleTimeline sample_;
  uint64_t now_unix_nano_ = kSampleStart + 10 * kNanosPerMinute;
  uint64_t next_span_ = 50;
  uint64_t next_capture_ = 10;
};

TEST_F(CapturedTimeTest, ACaptureThatEndsEarlyIsExplained) {
  add_part(0, 300);
  add_span(0, 302 * kMilli);
  EXPECT_EQ(explanation(), "not captured to its end: as far as is known, nothing triggered a capture of the rest");
  store::SkippedCapture rest{.trace_id = sample_trace_id(kTrace), .node_id = node(), .node_name = "shop-1"};
  rest.service = "pay";
  rest.pid = kPid;
  rest.trigger = CaptureTrigger::kSlow;
  rest.reason = SkipReason::kMemory;
  ASSERT_TRUE(sample_.stores().captures->put_skipped({rest}).ok());
  EXPECT_EQ(explanation(),
            "not captured to its end: the agent on shop-1 skipped its capture (trigger: slow): the memory for captures "
            "was used up");
  add_part(301, 400);
  EXPECT_EQ(explanation(), "") << "the hole is not longer than clocks may disagree";
}

TEST_F(CapturedTimeTest, TheEndMayBeThere) {
  add_part(200, 300);
  add_span(100 * kMilli, 250 * kMilli);
  EXPECT_EQ(explanation(), "captured in part only: as far as is known, nothing triggered a capture of the rest");
}

TEST_F(CapturedTimeTest, BetweenItsSpansNothingIsMissing) {
  add_part(0, 100);
  add_part(900, 1000);
  add_span(0, 100 * kMilli + 900'000);
  add_span(900 * kMilli, 950 * kMilli);
  EXPECT_EQ(explanation(), "") << "and clocks may disagree a little";
}

TEST_F(CapturedTimeTest, BeforeItsMinuteIsOverTheRestMayCome) {
  add_part(0, 300);
  add_span(0, 400 * kMilli);
  now_unix_nano_ = kSampleStart + kNanosPerSecond;
  EXPECT_TRUE(explanation().starts_with("not captured to its end: captures of slow requests are sent when"))
      << explanation();
}

TEST_F(CapturedTimeTest, WhatCannotBeComparedIsNotSaidToBeMissing) {
  add_part(0, 300);
  add_span(0, 400 * kMilli);
  EXPECT_NE(explanation(), "");
  add_content("not a capture of this trace", 0, 300);
  EXPECT_EQ(explanation(), "") << "it says itself that it cannot be read";
}

TEST_F(CapturedTimeTest, ACaptureAcrossAStepOfTheCalendarMayHaveAll) {
  add_part(0, 300, /*jumps=*/true);
  add_span(0, 400 * kMilli);
  EXPECT_EQ(explanation(), "");
}

TEST_F(CapturedTimeTest, TheAnswerTellsItFromNoCapture) {
  add_part(0, 300);
  add_span(0, 400 * kMilli);
  Stores stores = sample_.stores();
  store::QueryBudget budget;
  const auto json = run_timeline(stores, {.subject = {.trace = sample_trace_id(kTrace)}}, budget);
  ASSERT_TRUE(json.ok()) << json.error().message;
  EXPECT_NE(json->find(R"("partial":true)"), std::string::npos) << *json;
  const auto other = run_timeline(stores, {.subject = {.trace = sample_trace_id(1)}}, budget);
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_NE(other->find(R"("no_capture")"), std::string::npos) << *other;
  EXPECT_EQ(other->find(R"("partial")"), std::string::npos) << *other;
}

}  // namespace
}  // namespace fathom::query
