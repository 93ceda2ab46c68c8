// Tests processes in containers, which see other process ids and host names than their node.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/process_attributes.h"
#include "base/span_threads.h"
#include "capture/encode.h"
#include "query/testing/sample_timeline.h"
#include "query/timeline/span_places.h"
#include "query/timeline/timeline_query.h"

namespace fathom::query {
namespace {

using store::ValueView;
using testing::kMilli;
using testing::kSampleStart;
using testing::sample_capture;
using testing::sample_capture_id;
using testing::sample_capture_info;
using testing::sample_span_id;
using testing::sample_trace_id;
using testing::SampleTimeline;

constexpr uint32_t kContainerPid = 4711;  // shop-1's number of the process
constexpr uint32_t kContainerWorker = 4712;
constexpr uint64_t kPlainSpan = 60;

std::string node_of_sample() {
  return sample_capture_info(1).node_id.hex();
}

class ContainerTest : public ::testing::Test {
 protected:
  // A span that no capture mentions, of a process that has pid 1 and a host name of its own.
  void add_span(int64_t node_pid, const std::string& node, uint64_t number = kPlainSpan, uint64_t trace = 1,
                const std::string& service = "checkout") {
    store::SpanView span{.trace_id = sample_trace_id(trace), .span_id = sample_span_id(number), .name = "plain"};
    if (trace == 1) span.parent_span_id = sample_span_id(1);
    span.start_unix_nano = kSampleStart + 5 * kMilli;
    span.end_unix_nano = kSampleStart + 400 * kMilli;
    const store::AttributeView thread[] = {{kThreadId, ValueView::of_int(kContainerWorker)}};
    span.attributes = thread;
    sample_.add_span(span, service, 1,
                     {{"host.name", ValueView::of_string("3f2a9c")},
                      {"telemetry.sdk.name", ValueView::of_string("fathom")},
                      {kProcessIdAttribute, ValueView::of_int(node_pid)},
                      {kNodeIdAttribute, ValueView::of_string(node)}});
  }
  void build(uint64_t trace = 1) {
    store::QueryBudget budget;
    auto built = build_timeline(sample_.stores(), {.subject = {.trace = sample_trace_id(trace)}}, budget);
    ASSERT_TRUE(built.ok()) << built.error().message;
    timeline_ = *std::move(built);
  }
  static bool has_span(const TimelineProcess& process, uint32_t tid, uint64_t number) {
    const auto thread = std::ranges::find(process.threads, tid, &TimelineThread::tid);
    return thread != process.threads.end() &&
           std::ranges::count(thread->spans, sample_span_id(number), &TimelineSpan::span_id) == 1;
  }

  SampleTimeline sample_;
  Timeline timeline_;
};

TEST_F(ContainerTest, ASpanIsOfTheProcessThatItsAgentSays) {
  add_span(kContainerPid, node_of_sample());
  build();
  ASSERT_EQ(timeline_.processes.size(), 2u) << "checkout and stock";
  EXPECT_TRUE(has_span(timeline_.processes[0], kContainerWorker, kPlainSpan));
  EXPECT_FALSE(timeline_.processes[0].no_capture);
}

TEST_F(ContainerTest, AnotherNumberOrAnotherNodeIsAnotherProcess) {
  add_span(5000, node_of_sample(), 60);
  add_span(kContainerPid, "0e000000000000000000000000000000", 61);
  build();
  ASSERT_EQ(timeline_.processes.size(), 4u);
  for (const TimelineProcess& process : timeline_.processes) {
    EXPECT_EQ(has_span(process, kContainerWorker, 60), process.pid == 5000);
    EXPECT_EQ(process.node_id.is_zero(), process.service == "stock");
    EXPECT_EQ(process.captures.empty(), process.pid != kContainerPid || process.node_id.hex() != node_of_sample());
  }
}

// Its service, process id and host equal those of the captured process.
TEST_F(ContainerTest, WhatItsAgentSaysCountsMoreThanItsNames) {
  store::SpanView span{.trace_id = sample_trace_id(1), .span_id = sample_span_id(kPlainSpan), .name = "plain"};
  span.start_unix_nano = kSampleStart;
  span.end_unix_nano = kSampleStart + 1;
  sample_.add_span(span, "checkout", kContainerPid,
                   {{"host.name", ValueView::of_string("shop-1")},
                    {kProcessIdAttribute, ValueView::of_int(5000)},
                    {kNodeIdAttribute, ValueView::of_string(node_of_sample())}});
  build();
  ASSERT_EQ(timeline_.processes.size(), 3u);
  EXPECT_EQ(std::ranges::count(timeline_.processes, 5000u, &TimelineProcess::pid), 1);
}

// A child of fork() works under a span of its parent; it must not get the parent's spans.
TEST_F(ContainerTest, AnotherProcessThatWorkedUnderASpanDoesNotTakeIt) {
  add_span(5000, node_of_sample());
  capture::Capture content = sample_capture();
  content.span_sets[2] = {{sample_trace_id(1), sample_span_id(kPlainSpan)}};
  sample_.add_capture(sample_capture_info(3), capture::encode(content));
  build();
  const auto process = std::ranges::find(timeline_.processes, 5000u, &TimelineProcess::pid);
  ASSERT_NE(process, timeline_.processes.end());
  EXPECT_TRUE(has_span(*process, kContainerWorker, kPlainSpan));
}

TEST_F(ContainerTest, WhatNamesNoProcessCountsForNothing) {
  add_span(0, node_of_sample(), 60);
  add_span(kContainerPid, "no node", 61);
  build();
  ASSERT_EQ(timeline_.processes.size(), 3u) << "both by their names: checkout, 1, 3f2a9c";
  EXPECT_TRUE(timeline_.processes[1].captures.empty());
}

TEST_F(ContainerTest, CapturesOfItsOtherRequestsCoverIt) {
  constexpr uint32_t kPid = 99;
  store::CaptureInfo info = sample_capture_info(3);
  info.trace_id = sample_trace_id(9);
  info.pid = kPid;
  capture::Capture content = sample_capture();
  content.pid = kPid;
  sample_.add_capture(info, capture::encode(content));
  add_span(kPid, node_of_sample(), kPlainSpan, 2);
  add_span(5000, node_of_sample(), kPlainSpan, 3);
  build(2);
  ASSERT_EQ(timeline_.captures.size(), 1u);
  EXPECT_EQ(timeline_.captures[0].stored.info.id, sample_capture_id(3));
  ASSERT_EQ(timeline_.processes.size(), 1u);
  EXPECT_TRUE(has_span(timeline_.processes[0], kContainerWorker, kPlainSpan));
  EXPECT_FALSE(timeline_.processes[0].no_capture);
  build(3);
  EXPECT_TRUE(timeline_.captures.empty()) << "of another process of the service";
}

// A span of a service without captures names a thread id of a process with captures.
TEST_F(ContainerTest, AThreadOfAnotherProcessIsNotTaken) {
  const store::AttributeView thread[] = {{kThreadId, ValueView::of_int(kContainerWorker)}};
  store::SpanView span{.trace_id = sample_trace_id(1), .span_id = sample_span_id(kPlainSpan), .name = "plain"};
  span.start_unix_nano = kSampleStart + 5 * kMilli;
  span.end_unix_nano = kSampleStart + 400 * kMilli;
  span.attributes = thread;
  sample_.add_span(span, "stock", 500);
  build();
  ASSERT_EQ(timeline_.processes.size(), 2u);
  EXPECT_FALSE(has_span(timeline_.processes[0], kContainerWorker, kPlainSpan));
  EXPECT_TRUE(has_span(timeline_.processes[1], kContainerWorker, kPlainSpan));
  EXPECT_TRUE(timeline_.processes[1].threads.at(0).states.empty());
}

}  // namespace
}  // namespace fathom::query
