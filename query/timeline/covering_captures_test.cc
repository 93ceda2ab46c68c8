#include "query/timeline/covering_captures.h"

#include <gtest/gtest.h>

#include <functional>

#include "capture/encode.h"
#include "query/testing/sample_timeline.h"
#include "query/timeline/timeline_query.h"
#include "store/model/memory_captures.h"

namespace fathom::query {
namespace {

using testing::kMilli;
using testing::kSampleStart;
using testing::sample_capture;
using testing::sample_capture_id;
using testing::sample_capture_info;
using testing::sample_monotonic;
using testing::sample_span_id;
using testing::sample_trace_id;
using testing::SampleTimeline;

constexpr int64_t kPid = 99;
constexpr uint64_t kTrace = 40;

// Reading captures of other requests fails; captures of the trace are found.
class UnreadableCaptures : public store::MemoryCaptures {
 public:
  explicit UnreadableCaptures(std::function<Result<>(store::QueryBudget&)> fault) : fault_(std::move(fault)) {}
  Result<store::CapturePage> find(const store::CaptureFilter& filter, size_t limit,
                                  const std::optional<store::CaptureCursor>& cursor,
                                  store::QueryBudget& budget) override {
    if (filter.trace_id) return MemoryCaptures::find(filter, limit, cursor, budget);
    ++searches;
    return fault_(budget).error();
  }
  size_t searches = 0;

 private:
  const std::function<Result<>(store::QueryBudget&)> fault_;
};

class CoveringCapturesTest : public ::testing::Test {
 protected:
  // A request with a process of its own; times are milliseconds after kSampleStart.
  void add_request(uint64_t begin_ms, uint64_t end_ms, int64_t pid = kPid) {
    store::SpanView span;
    span.trace_id = sample_trace_id(kTrace);
    span.span_id = sample_span_id(next_span_++);
    span.name = "GET /other";
    span.start_unix_nano = kSampleStart + begin_ms * kMilli;
    span.end_unix_nano = kSampleStart + end_ms * kMilli;
    sample_.add_span(span, "checkout", pid, {{"telemetry.sdk.name", store::ValueView::of_string("fathom")}});
  }
  // A capture of another request.
  void add_capture(uint64_t number, uint64_t begin_ms, uint64_t end_ms, uint32_t pid = kPid) {
    store::CaptureInfo info = info_of(number, begin_ms, end_ms);
    info.pid = pid;
    capture::Capture content = content_of(begin_ms, end_ms);
    content.pid = pid;
    sample_.add_capture(info, capture::encode(content));
  }
  // A capture that a user requested.
  void add_requested(uint64_t number, const capture::Capture& content, uint64_t begin_ms, uint64_t end_ms) {
    store::CaptureInfo info = info_of(number, begin_ms, end_ms);
    info.trace_id = {};
    info.trigger = CaptureTrigger::kRequested;
    sample_.add_capture(info, capture::encode(content));
  }
  static store::CaptureInfo info_of(uint64_t number, uint64_t begin_ms, uint64_t end_ms) {
    store::CaptureInfo info = sample_capture_info(number);
    info.trace_id = sample_trace_id(number);
    info.pid = kPid;
    info.start_unix_nano = kSampleStart + begin_ms * kMilli;
    info.end_unix_nano = kSampleStart + end_ms * kMilli;
    return info;
  }
  // Has all events of its window.
  static capture::Capture content_of(uint64_t begin_ms, uint64_t end_ms) {
    capture::Capture content = sample_capture();
    content.pid = kPid;
    content.begin_nano = sample_monotonic(begin_ms * 1000);
    content.end_nano = sample_monotonic(end_ms * 1000);
    content.events_complete_from_nano = content.kernel_complete_from_nano = content.begin_nano;
    return content;
  }
  static capture::Capture without_calls(capture::Capture content) {
    for (capture::Thread& thread : content.threads) std::erase_if(thread.kernel_events, is_system_call);
    return content;
  }
  static capture::Capture without_kernel(capture::Capture content) {
    content.kernel_complete_from_nano = 0;
    for (capture::Thread& thread : content.threads) thread.kernel_events.clear();
    return content;
  }
  std::vector<store::CaptureId> captures_of_request() {
    store::QueryBudget budget;
    auto timeline = build_timeline(sample_.stores(), {.subject = {.trace = sample_trace_id(kTrace)}}, budget);
    EXPECT_TRUE(timeline.ok()) << timeline.error().message;
    std::vector<store::CaptureId> ids;
    if (!timeline) return ids;
    for (const TimelineCapture& capture : timeline->captures) ids.push_back(capture.stored.info.id);
    return ids;
  }
  using Ids = std::vector<store::CaptureId>;

  // Builds the timeline of kTrace with captures whose searches fail.
  Result<Timeline> built_with(UnreadableCaptures& captures, store::QueryBudget& budget) {
    Stores stores = sample_.stores();
    stores.captures = &captures;
    return build_timeline(stores, {.subject = {.trace = sample_trace_id(kTrace)}}, budget);
  }
  static std::string reason_of(const TimelineProcess& process) {
    return process.no_capture ? std::string(process.no_capture->reason) : "";
  }

  uint64_t next_span_ = kTrace;
  SampleTimeline sample_;
};

TEST_F(CoveringCapturesTest, ARequestWithinAnothersCaptureHasIt) {
  add_request(100, 365);
  EXPECT_EQ(captures_of_request(), Ids());
  add_capture(50, 0, 400);
  add_capture(51, 0, 400, kPid + 1);
  EXPECT_EQ(captures_of_request(), Ids{sample_capture_id(50)});
}

TEST_F(CoveringCapturesTest, AsFewAsCoverIt) {
  add_request(100, 500);
  add_capture(50, 0, 150);
  add_capture(51, 90, 300);
  add_capture(52, 250, 310);
  add_capture(53, 290, 600);
  add_capture(54, 500, 600);
  EXPECT_EQ(captures_of_request(), (Ids{sample_capture_id(51), sample_capture_id(53)}));
}

TEST_F(CoveringCapturesTest, AcrossAHoleAsWell) {
  add_request(100, 500);
  add_capture(50, 150, 200);
  add_capture(51, 300, 600);
  EXPECT_EQ(captures_of_request(), (Ids{sample_capture_id(50), sample_capture_id(51)}));
}

TEST_F(CoveringCapturesTest, WhatItsOwnHaveIsNotAskedForAgain) {
  add_request(100, 300);
  add_capture(kTrace, 90, 310);
  add_capture(50, 0, 400);
  EXPECT_EQ(captures_of_request(), Ids{sample_capture_id(kTrace)});
}

TEST_F(CoveringCapturesTest, ARequestedCaptureWithSystemCallsIsUsedIfItsOwnHasNone) {
  add_request(100, 300);
  sample_.add_capture(info_of(kTrace, 90, 310), capture::encode(without_calls(content_of(90, 310))));
  add_requested(50, content_of(0, 200), 0, 200);
  add_requested(51, without_calls(content_of(0, 400)), 0, 400);
  add_requested(52, content_of(310, 400), 310, 400);
  EXPECT_EQ(captures_of_request(), (Ids{sample_capture_id(kTrace), sample_capture_id(50)}))
      << "others have nothing that is missing";
}

TEST_F(CoveringCapturesTest, TheDocumentSaysWhichCapturesHaveSystemCalls) {
  add_request(100, 300);
  sample_.add_capture(info_of(kTrace, 90, 310), capture::encode(without_calls(content_of(90, 310))));
  const auto says = [&](const std::string& text) {
    store::QueryBudget budget;
    const auto json = run_timeline(sample_.stores(), {.subject = {.trace = sample_trace_id(kTrace)}}, budget);
    return json.ok() && json->find("\"has_system_calls\":" + text) != std::string::npos;
  };
  EXPECT_TRUE(says("false"));
  EXPECT_FALSE(says("true"));
  add_requested(50, content_of(0, 200), 0, 200);
  EXPECT_TRUE(says("true"));
}

TEST_F(CoveringCapturesTest, AnotherCaptureIsUsedIfItsOwnLacksKernelEvents) {
  add_request(100, 300);
  sample_.add_capture(info_of(kTrace, 90, 310), capture::encode(without_kernel(content_of(90, 310))));
  add_capture(50, 200, 400);
  sample_.add_capture(info_of(51, 0, 250), capture::encode(without_kernel(content_of(0, 250))));
  EXPECT_EQ(captures_of_request(), (Ids{sample_capture_id(kTrace), sample_capture_id(50)}));
}

TEST_F(CoveringCapturesTest, AnotherCaptureIsUsedForEventsThatWereOverwritten) {
  add_request(100, 300);
  capture::Capture content = content_of(90, 310);
  content.events_complete_from_nano = sample_monotonic(200'000);
  sample_.add_capture(info_of(kTrace, 90, 310), capture::encode(content));
  add_capture(50, 80, 250);
  add_capture(51, 210, 400);
  EXPECT_EQ(captures_of_request(), (Ids{sample_capture_id(kTrace), sample_capture_id(50)}));
}

TEST_F(CoveringCapturesTest, ASearchThatFailsIsNoReasonToFail) {
  add_request(100, 365);
  add_request(100, 365, kPid + 1);
  UnreadableCaptures captures([](store::QueryBudget& /*budget*/) -> Result<> { return corrupt("a damaged row"); });
  store::QueryBudget budget;
  const auto timeline = built_with(captures, budget);
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  EXPECT_EQ(captures.searches, 1u) << "of one service";
  EXPECT_EQ(timeline->captures_left_out, 1u);
  ASSERT_EQ(timeline->processes.size(), 2u);
  for (const TimelineProcess& process : timeline->processes) EXPECT_EQ(reason_of(process), "budget");
  EXPECT_NE(timeline_json(*timeline, budget)->find(R"("captures_left_out":1)"), std::string::npos);
}

TEST_F(CoveringCapturesTest, ASearchDoesNotTakeTheBudgetOfTheRest) {
  add_request(100, 365);
  UnreadableCaptures captures([](store::QueryBudget& budget) { return budget.spend(budget.left_bytes() + 1); });
  store::QueryBudget budget(UINT64_MAX, 16 << 20);
  const auto timeline = built_with(captures, budget);
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  EXPECT_EQ(timeline->captures_left_out, 1u);
  EXPECT_GT(budget.spent_bytes(), 3u << 20) << "the query paid for it";
}

TEST_F(CoveringCapturesTest, WhoHasGoneIsNotSearchedFor) {
  add_request(100, 365);
  store::QueryBudget budget;
  UnreadableCaptures captures([&](store::QueryBudget& /*budget*/) -> Result<> {
    budget.cancel();
    return corrupt("a damaged row");
  });
  const auto timeline = built_with(captures, budget);
  ASSERT_FALSE(timeline.ok());
  EXPECT_EQ(timeline.error().code, ErrorCode::kCancelled);
}

// The content is small, but decoded it needs more than half of the remaining budget.
TEST_F(CoveringCapturesTest, ACaptureThatIsTooLargeIsLeftOut) {
  add_request(100, 365);
  capture::Capture content = sample_capture();
  content.pid = kPid;
  content.span_sets.emplace_back(200'000);
  const std::string bytes = capture::encode(content);
  ASSERT_LT(bytes.size(), 100'000u);
  store::CaptureInfo info = sample_capture_info(50);
  info.trace_id = sample_trace_id(50);
  info.pid = kPid;
  sample_.add_capture(info, bytes);
  EXPECT_EQ(captures_of_request(), Ids{sample_capture_id(50)});
  store::QueryBudget budget(UINT64_MAX, 200'000 * sizeof(capture::SpanRef));
  const auto timeline = build_timeline(sample_.stores(), {.subject = {.trace = sample_trace_id(kTrace)}}, budget);
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  EXPECT_TRUE(timeline->captures.empty());
  EXPECT_EQ(timeline->captures_left_out, 1u);
  EXPECT_EQ(reason_of(timeline->processes.at(0)), "budget");
}

TEST_F(CoveringCapturesTest, ProcessesBeyondTheBoundAreMarked) {
  for (size_t i = 0; i <= kMostCoveredProcesses; ++i) add_request(100 + i, 365, kPid + static_cast<int64_t>(i));
  store::QueryBudget budget;
  const auto timeline = build_timeline(sample_.stores(), {.subject = {.trace = sample_trace_id(kTrace)}}, budget);
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  EXPECT_EQ(timeline->captures_left_out, 0u) << "it is not known whether there are any";
  ASSERT_EQ(timeline->processes.size(), kMostCoveredProcesses + 1);
  for (const TimelineProcess& process : timeline->processes) {
    const bool is_last = process.pid == kPid + kMostCoveredProcesses;
    EXPECT_EQ(reason_of(process), is_last ? "budget" : "unknown");
  }
}

}  // namespace
}  // namespace fathom::query
