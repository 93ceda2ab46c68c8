#include "query/timeline/named_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "base/span_threads.h"
#include "capture/encode.h"
#include "query/testing/sample_timeline.h"
#include "query/timeline/timeline_query.h"

namespace fathom::query {
namespace {

using store::ValueView;
using testing::kMilli;
using testing::kSampleStart;
using testing::sample_capture;
using testing::sample_capture_info;
using testing::sample_span_id;
using testing::sample_trace_id;
using testing::SampleTimeline;

constexpr uint64_t kNumber = 60;  // the number of the span that each test adds
constexpr uint32_t kWorker = 4712;
constexpr uint32_t kFlusher = 4719;
constexpr uint32_t kSilent = 4800;  // a thread that no capture knows
constexpr uint32_t kSilentToo = 4801;

store::AttributeView thread_attribute(std::string_view key, int64_t tid) {
  return {key, ValueView::of_int(tid)};
}

NamedThreads named_by(std::initializer_list<store::AttributeView> attributes) {
  store::SpanView span;
  span.attributes = {attributes.begin(), attributes.size()};
  return named_threads(span);
}

TEST(NamedThreads, AreThoseThatAgentsAdd) {
  const NamedThreads one = named_by({thread_attribute("items", 3), thread_attribute(kThreadId, 7)});
  EXPECT_EQ(one.start_tid, 7u);
  EXPECT_EQ(one.end_tid, 7u);
  EXPECT_TRUE(one.known());
  EXPECT_FALSE(one.differ());
  const NamedThreads two = named_by({thread_attribute(kStartThreadId, 8), thread_attribute(kThreadId, 7)});
  EXPECT_EQ(two.start_tid, 8u);
  EXPECT_TRUE(two.differ());
  EXPECT_FALSE(named_by({thread_attribute("thread.id", 7)}).known()) << "a number of the program's runtime";
}

TEST(NamedThreads, WhatIsNoThreadIdNamesNone) {
  EXPECT_FALSE(named_by({}).known());
  EXPECT_FALSE(named_by({thread_attribute(kThreadId, 0)}).known());
  EXPECT_FALSE(named_by({thread_attribute(kThreadId, -7)}).known());
  EXPECT_FALSE(named_by({thread_attribute(kThreadId, int64_t{1} << 31)}).known());
  EXPECT_FALSE(named_by({{kThreadId, ValueView::of_string("7")}}).known());
  EXPECT_FALSE(named_by({thread_attribute(kStartThreadId, 7)}).known());
  EXPECT_FALSE(named_by({thread_attribute(kStartThreadId, -8), thread_attribute(kThreadId, 7)}).differ());
}

// The thread under which a span is listed in the timeline of its trace.
struct PlacedSpan {
  uint32_t tid = 0;  // 0: no thread
  TimelineSpan span;
};

class PlacedByNameTest : public ::testing::Test {
 protected:
  // No capture mentions the span. Other threads run 400 ms after the sample's begin than at 5 ms, so none is guessed.
  void add_span(std::initializer_list<store::AttributeView> attributes, const std::string& service = "checkout",
                int64_t pid = 4711, uint64_t end_milli = 400) {
    store::SpanView span{.trace_id = sample_trace_id(1), .span_id = sample_span_id(kNumber), .name = "plain"};
    span.parent_span_id = sample_span_id(1);
    span.start_unix_nano = kSampleStart + 5 * kMilli;
    span.end_unix_nano = kSampleStart + end_milli * kMilli;
    span.attributes = {attributes.begin(), attributes.size()};
    sample_.add_span(span, service, pid);
  }
  // The worker writes an event under the span.
  void add_capture_of_span() {
    capture::Capture content = sample_capture();
    content.span_sets[2] = {{sample_trace_id(1), sample_span_id(kNumber)}};
    sample_.add_capture(sample_capture_info(3), capture::encode(content));
  }
  PlacedSpan placed(size_t process) {
    store::QueryBudget budget;
    auto built = build_timeline(sample_.stores(), {.subject = {.trace = sample_trace_id(1)}}, budget);
    EXPECT_TRUE(built.ok()) << built.error().message;
    if (!built) return {};
    timeline_ = *std::move(built);
    for (const TimelineThread& thread : timeline_.processes.at(process).threads) {
      if (const TimelineSpan* span = find(thread.spans)) return {thread.tid, *span};
    }
    const TimelineSpan* span = find(timeline_.processes.at(process).spans);
    EXPECT_NE(span, nullptr);
    return span == nullptr ? PlacedSpan{} : PlacedSpan{0, *span};
  }
  static const TimelineSpan* find(const std::vector<TimelineSpan>& spans) {
    auto found = std::ranges::find(spans, sample_span_id(kNumber), &TimelineSpan::span_id);
    return found == spans.end() ? nullptr : &*found;
  }
  std::string json() {
    store::QueryBudget budget;
    return *timeline_json(timeline_, budget);
  }

  SampleTimeline sample_;
  Timeline timeline_;
};

TEST_F(PlacedByNameTest, AThreadOfWhichNothingWasCapturedHasItsSpans) {
  add_span({thread_attribute(kThreadId, kSilent)});
  const PlacedSpan found = placed(0);
  EXPECT_EQ(found.tid, kSilent);
  EXPECT_FALSE(found.span.guessed_thread);
  EXPECT_TRUE(timeline_.processes[0].spans.empty());
  const auto& threads = timeline_.processes[0].threads;
  const auto thread = std::ranges::find(threads, kSilent, &TimelineThread::tid);
  ASSERT_NE(thread, threads.end());
  EXPECT_TRUE(thread->of_trace);
  EXPECT_EQ(thread->begin_unix_nano, kSampleStart + 5 * kMilli);
  EXPECT_EQ(thread->end_unix_nano, kSampleStart + 400 * kMilli);
  EXPECT_EQ(json().find("_tid\""), std::string::npos) << "it ended where it started";
}

TEST_F(PlacedByNameTest, AThreadOfARuntimeSaysNothing) {
  add_span({thread_attribute("thread.id", kWorker)});
  EXPECT_EQ(placed(0).tid, 0u);
}

// Without the attribute, the worker would be guessed: only it ran at both ends of the span.
TEST_F(PlacedByNameTest, NothingIsGuessedThatIsNamed) {
  add_span({thread_attribute(kThreadId, kFlusher)}, "checkout", 4711, 792);
  const PlacedSpan found = placed(0);
  EXPECT_EQ(found.tid, kFlusher);
  EXPECT_FALSE(found.span.guessed_thread);
}

TEST_F(PlacedByNameTest, ASpanThatWasHandedOnNamesBothThreads) {
  add_span({thread_attribute(kThreadId, kSilentToo), thread_attribute(kStartThreadId, kSilent)});
  const PlacedSpan found = placed(0);
  EXPECT_EQ(found.tid, kSilentToo) << "where it ended";
  EXPECT_EQ(found.span.start_tid, kSilent);
  EXPECT_EQ(found.span.end_tid, kSilentToo);
  EXPECT_NE(json().find(R"("start_tid":4800,"end_tid":4801)"), std::string::npos);
}

// The thread that started it goes on with other work, whose waits are none of the span's.
TEST_F(PlacedByNameTest, OfTwoThreadsTheLastOneAlsoIfOnlyTheFirstWasCaptured) {
  add_span({thread_attribute(kThreadId, kSilent), thread_attribute(kStartThreadId, kWorker)});
  EXPECT_EQ(placed(0).tid, kSilent);
}

TEST_F(PlacedByNameTest, OfTwoCapturedThreadsTheLastOne) {
  add_span({thread_attribute(kThreadId, kFlusher), thread_attribute(kStartThreadId, kWorker)});
  EXPECT_EQ(placed(0).tid, kFlusher);
}

TEST_F(PlacedByNameTest, AProcessThatWasNotCapturedHasThreadsToo) {
  add_span({thread_attribute(kThreadId, 501)}, "stock", 500);
  EXPECT_EQ(placed(1).tid, 501u);
  EXPECT_EQ(timeline_.processes[1].spans.size(), 1u) << "the one that names none";
}

TEST_F(PlacedByNameTest, AThreadThatOnlySpansNameIsNotListedWithoutThem) {
  add_span({thread_attribute(kThreadId, kSilent)});
  for (bool all : {false, true}) {
    store::QueryBudget budget;
    auto built = build_timeline(
        sample_.stores(), {.subject = {.trace = sample_trace_id(1)}, .span = sample_span_id(2), .all = all}, budget);
    ASSERT_TRUE(built.ok()) << built.error().message;
    const TimelineProcess& process = built->processes.at(0);
    EXPECT_EQ(std::ranges::count(process.threads, kSilent, &TimelineThread::tid), 0);
    EXPECT_EQ(process.threads.size() + process.other_threads, 2u) << "the captured ones";
  }
}

TEST_F(PlacedByNameTest, EventsOfAnotherThreadDoNotMoveASpan) {
  add_capture_of_span();
  add_span({thread_attribute(kThreadId, kSilent)});
  EXPECT_EQ(placed(0).tid, kSilent);
  const auto& threads = timeline_.processes[0].threads;
  const auto own = std::ranges::find(threads, kSilent, &TimelineThread::tid);
  const auto worker = std::ranges::find(threads, kWorker, &TimelineThread::tid);
  EXPECT_FALSE(own->is_captured);
  ASSERT_NE(worker, threads.end()) << "it worked on the span";
  EXPECT_TRUE(worker->of_trace);
  EXPECT_NE(json().find(R"("tid":4800,"name":"","of_trace":true,"not_captured":true)"), std::string::npos);
}

TEST_F(PlacedByNameTest, ASpanThatWasHandedOnIsNotOnAThirdThread) {
  add_capture_of_span();
  add_span({thread_attribute(kThreadId, kSilent), thread_attribute(kStartThreadId, kSilentToo)});
  EXPECT_EQ(placed(0).tid, kSilent);
}

TEST_F(PlacedByNameTest, OfTwoNamedThreadsTheOneThatACaptureHasItOn) {
  add_capture_of_span();
  add_span({thread_attribute(kThreadId, kFlusher), thread_attribute(kStartThreadId, kWorker)});
  EXPECT_EQ(placed(0).tid, kWorker);
}

// In a pid namespace, the capture has the thread's own number if the thread ended before the capture was made.
TEST_F(PlacedByNameTest, ACaptureKnowsBetterWhereASpanWasThanANumberThatIsNotCaptured) {
  add_capture_of_span();
  constexpr int64_t kOwnPid = 7;
  add_span({thread_attribute(kThreadId, kSilent)}, "checkout", kOwnPid);
  EXPECT_EQ(placed(0).tid, kWorker);
}

}  // namespace
}  // namespace fathom::query
