#include "query/timeline/no_capture.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/process_attributes.h"
#include "base/time.h"
#include "capture/encode.h"
#include "query/testing/sample_timeline.h"

namespace fathom::query {
namespace {

using testing::kMilli;
using testing::kSampleStart;
using testing::sample_capture_id;
using testing::sample_capture_info;
using testing::sample_span_id;
using testing::sample_trace_id;

class NoCaptureTest : public ::testing::Test {
 protected:
  void add_process(const std::string& service, int64_t pid, const std::string& host, const std::string& sdk,
                   store::StatusCode status = store::StatusCode::kUnset) {
    store::SpanView span{.trace_id = sample_trace_id(1), .span_id = sample_span_id(next_span_++), .name = "work"};
    span.parent_span_id = sample_span_id(1);
    span.start_unix_nano = kSampleStart;
    span.end_unix_nano = kSampleStart + 1000;
    span.status = status;
    sample_.add_span(
        span, service, pid,
        {{"host.name", store::ValueView::of_string(host)}, {"telemetry.sdk.name", store::ValueView::of_string(sdk)}});
  }
  // A process in a container; its agent added the node's process id and the node's id.
  void add_named_process(const std::string& service, int64_t node_pid, const store::NodeId& node) {
    const std::string node_id = node.hex();
    store::SpanView span{.trace_id = sample_trace_id(1), .span_id = sample_span_id(next_span_++), .name = "work"};
    span.parent_span_id = sample_span_id(1);
    span.start_unix_nano = kSampleStart;
    span.end_unix_nano = kSampleStart + 1000;
    sample_.add_span(span, service, 1,
                     {{"host.name", store::ValueView::of_string("3f2a9c")},
                      {kProcessIdAttribute, store::ValueView::of_int(node_pid)},
                      {kNodeIdAttribute, store::ValueView::of_string(node_id)}});
  }
  void report(const store::SkippedCapture& skipped) {
    ASSERT_TRUE(sample_.stores().captures->put_skipped({skipped}).ok());
  }
  void report(const std::string& service, uint32_t pid, SkipReason reason, uint64_t skipped_nano = 1) {
    report({.trace_id = sample_trace_id(1),
            .node_name = "shop-2",
            .service = service,
            .pid = pid,
            .trigger = CaptureTrigger::kSlow,
            .reason = reason,
            .skipped_unix_nano = skipped_nano});
  }
  // Nodes whose agents report skipped captures.
  void know_nodes(const std::vector<std::string>& hosts) {
    std::vector<NodeRow> rows;
    for (const std::string& host : hosts) rows.push_back({.host_name = host, .reports_skipped_captures = true});
    know(std::move(rows));
  }
  void know(std::vector<NodeRow> rows) {
    nodes_ = [rows = std::move(rows)] { return rows; };
  }
  std::vector<TimelineProcess> processes(const TimelineQuery& query) {
    Stores stores = sample_.stores();
    stores.nodes = nodes_;
    store::QueryBudget budget;
    auto timeline = build_timeline(stores, query, budget);
    EXPECT_TRUE(timeline.ok()) << timeline.error().message;
    return timeline ? std::move(timeline->processes) : std::vector<TimelineProcess>{};
  }
  std::optional<NoCapture> explained(const std::string& service, uint32_t pid) {
    TimelineQuery query{.subject = {.trace = sample_trace_id(1)}};
    query.now_unix_nano = now_unix_nano_;
    for (const TimelineProcess& process : processes(query)) {
      if (process.service == service && process.pid == pid) return process.no_capture;
    }
    ADD_FAILURE() << "no process of " << service;
    return std::nullopt;
  }
  std::string reason_of(const std::string& service, uint32_t pid) {
    const std::optional<NoCapture> none = explained(service, pid);
    return none ? std::string(none->reason) : "";
  }

  testing::SampleTimeline sample_;
  NodeSource nodes_;
  uint64_t now_unix_nano_ = kSampleStart + 10 * kNanosPerMinute;
  uint64_t next_span_ = 50;
};

TEST_F(NoCaptureTest, AServiceWithoutTheClientIsSaidToHaveNone) {
  EXPECT_FALSE(explained("checkout", 4711)) << "it is captured";
  const std::optional<NoCapture> none = explained("stock", 500);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->reason, "no_client");
  EXPECT_TRUE(none->explanation.starts_with("this service does not use fathom's client")) << none->explanation;
  EXPECT_EQ(none->node, "");
}

TEST_F(NoCaptureTest, AHostWithoutAnAgentIsNamed) {
  add_process("web", 7, "web-7", "opentelemetry");
  EXPECT_EQ(reason_of("web", 7), "no_client") << "it is not known who has an agent";
  know_nodes({"shop-1"});
  const std::optional<NoCapture> none = explained("web", 7);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->reason, "no_agent");
  EXPECT_NE(none->explanation.find("web-7"), std::string::npos) << none->explanation;
  know_nodes({"shop-1", "web-7"});
  EXPECT_EQ(reason_of("web", 7), "no_client");
}

TEST_F(NoCaptureTest, TheAgentsReasonIsTold) {
  add_process("pay", 600, "shop-2", "fathom");
  know_nodes({"shop-1", "shop-2"});
  EXPECT_EQ(reason_of("pay", 600), "no_trigger");
  report("pay", 600, SkipReason::kMemory);
  const std::optional<NoCapture> none = explained("pay", 600);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->reason, "memory");
  EXPECT_EQ(none->node, "shop-2");
  EXPECT_EQ(none->trigger, CaptureTrigger::kSlow);
  EXPECT_EQ(none->explanation,
            "the agent on shop-2 skipped its capture (trigger: slow): the memory for captures was used up");
}

TEST_F(NoCaptureTest, OfSeveralReportsTheLastOfTheProcessCounts) {
  add_process("pay", 600, "shop-2", "fathom");
  add_process("pay", 1, "a-container", "fathom");
  report("pay", 600, SkipReason::kRate, 1);
  report("pay", 600, SkipReason::kBusy, 2);
  report("pay", 777, SkipReason::kFailed, 3);
  report("other", 600, SkipReason::kLost, 4);
  EXPECT_EQ(reason_of("pay", 600), "busy");
  EXPECT_EQ(reason_of("pay", 1), "failed") << "one of its service: its agent calls it otherwise";
  EXPECT_EQ(reason_of("stock", 500), "no_client");
}

TEST_F(NoCaptureTest, WhatTriggeredOnTheProcessItselfComesFirst) {
  add_process("pay", 600, "shop-2", "fathom");
  report("pay", 600, SkipReason::kBusy, 2);
  store::SkippedCapture by_others{.trace_id = sample_trace_id(1), .node_name = "shop-2", .service = "pay", .pid = 600};
  by_others.reason = SkipReason::kMemory;
  by_others.skipped_unix_nano = 3;
  for (CaptureTrigger trigger : {CaptureTrigger::kRemote, CaptureTrigger::kProgram}) {
    by_others.trigger = trigger;
    report(by_others);
  }
  EXPECT_EQ(reason_of("pay", 600), "busy");
}

// Two pods of one service on two nodes.
TEST_F(NoCaptureTest, AnotherInstancesReasonIsNotItsOwn) {
  add_process("pay", 600, "shop-2", "fathom");
  add_process("pay", 700, "shop-3", "fathom");
  know_nodes({"shop-1", "shop-2", "shop-3"});
  report("pay", 600, SkipReason::kRate);
  EXPECT_EQ(reason_of("pay", 600), "rate");
  EXPECT_EQ(reason_of("pay", 700), "no_trigger") << "its host is a node that reported nothing";
}

TEST_F(NoCaptureTest, OfTheOnlyProcessOfItsServiceAReportMayBe) {
  add_process("pay", 1, "shop-3", "fathom");
  know_nodes({"shop-1", "shop-2", "shop-3"});
  report("pay", 600, SkipReason::kRate);
  EXPECT_EQ(reason_of("pay", 1), "rate") << "a container that has its host's name from elsewhere";
}

TEST_F(NoCaptureTest, AReportOfANamedProcessIsThatProcessesAlone) {
  const store::NodeId node = sample_capture_info(1).node_id;
  add_named_process("pay", 600, node);
  add_named_process("pay", 700, node);
  add_process("pay", 1, "a-container", "fathom");
  know({{.node_id = node.hex(), .host_name = "shop-1", .reports_skipped_captures = true}});
  store::SkippedCapture skipped{.trace_id = sample_trace_id(1), .node_id = node, .node_name = "shop-1"};
  skipped.service = "as it was called";
  skipped.pid = 600;
  skipped.reason = SkipReason::kRate;
  skipped.trigger = CaptureTrigger::kSlow;
  report(skipped);
  skipped.service = "pay";
  report(skipped);
  EXPECT_EQ(reason_of("pay", 600), "rate");
  EXPECT_EQ(reason_of("pay", 700), "no_trigger");
  EXPECT_EQ(reason_of("pay", 1), "unknown") << "no agent says whose it is";
}

TEST_F(NoCaptureTest, WhatTheServerDidNotAskForIsOfAllProcessesOfTheNode) {
  const store::NodeId node = sample_capture_info(1).node_id;
  add_named_process("pay", 600, node);
  add_process("stock-client", 800, "shop-2", "fathom");
  store::SkippedCapture refused{.trace_id = sample_trace_id(1), .node_id = node, .node_name = "shop-1"};
  refused.trigger = CaptureTrigger::kRemote;
  refused.reason = SkipReason::kRefused;
  report(refused);
  const std::optional<NoCapture> none = explained("pay", 600);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->reason, "refused");
  EXPECT_EQ(none->explanation,
            "the server asked the agent on shop-1 late, or not at all, for its part of the trace (trigger: remote): "
            "the server asks agents for a limited number of traces per second");
  EXPECT_EQ(reason_of("stock-client", 800), "unknown");
}

// The node was not told to hold the trace, but was asked when another node's capture began.
TEST_F(NoCaptureTest, ANodeThatSentItsPartWasAsked) {
  store::CaptureInfo sent = sample_capture_info(3);
  sent.trigger = CaptureTrigger::kRemote;
  sample_.add_capture(sent, capture::encode(testing::sample_capture()));
  add_named_process("pay", 600, sent.node_id);
  know({{.node_id = sent.node_id.hex(), .host_name = "shop-1", .reports_skipped_captures = true}});
  store::SkippedCapture refused{.trace_id = sample_trace_id(1), .node_id = sent.node_id, .node_name = "shop-1"};
  refused.trigger = CaptureTrigger::kRemote;
  refused.reason = SkipReason::kRefused;
  report(refused);
  const std::optional<NoCapture> none = explained("pay", 600);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->reason, "unknown");
  EXPECT_EQ(none->explanation,
            "why is not known: the agent on shop-1 was asked for its part of the trace, and sent nothing of this "
            "process");
}

TEST_F(NoCaptureTest, OfManyFailuresSomeAreNotReported) {
  add_process("pay", 600, "shop-2", "fathom", store::StatusCode::kError);
  know_nodes({"shop-2"});
  const std::optional<NoCapture> none = explained("pay", 600);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->reason, "unknown");
  EXPECT_EQ(none->explanation, "why is not known: it failed, and of very many failures agents report only some");
  report("pay", 600, SkipReason::kRate);
  EXPECT_EQ(reason_of("pay", 600), "rate");
}

TEST_F(NoCaptureTest, AnAgentThatWasStartedLaterKnowsNothingOfIt) {
  add_process("pay", 600, "shop-2", "fathom");
  NodeRow node{.host_name = "shop-2", .agent_since_unix_nano = kSampleStart, .reports_skipped_captures = true};
  know({node});
  EXPECT_EQ(reason_of("pay", 600), "no_trigger");
  node.agent_since_unix_nano += 1;
  know({node});
  const std::optional<NoCapture> none = explained("pay", 600);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->reason, "unknown");
  EXPECT_EQ(none->explanation,
            "why is not known: the agent on shop-2 was started after the request, or this server was");
}

TEST_F(NoCaptureTest, AnAgentThatMakesNoCapturesIsNamed) {
  add_process("pay", 600, "shop-2", "fathom");
  know({{.host_name = "shop-2", .captures_off = true, .reports_skipped_captures = true}});
  const std::optional<NoCapture> none = explained("pay", 600);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->reason, "captures_off");
  EXPECT_EQ(none->explanation, "the agent on shop-2 runs with --no-captures");
}

TEST_F(NoCaptureTest, OfAnAgentThatDoesNotReportNothingIsClaimed) {
  add_process("pay", 600, "shop-2", "fathom");
  const std::optional<NoCapture> of_none = explained("pay", 600);
  ASSERT_TRUE(of_none);
  EXPECT_EQ(of_none->reason, "unknown");
  EXPECT_EQ(of_none->explanation, "why is not known: this server does not know its agent");
  know({{.host_name = "shop-2"}});
  const std::optional<NoCapture> of_old = explained("pay", 600);
  ASSERT_TRUE(of_old);
  EXPECT_EQ(of_old->reason, "unknown");
  EXPECT_EQ(of_old->explanation, "why is not known: the agent on shop-2 does not report reasons");
}

TEST_F(NoCaptureTest, APeriodOfSlowestRequestsIsItsNodes) {
  add_process("pay", 600, "shop-2", "fathom");
  know({{.host_name = "shop-2", .reports_skipped_captures = true, .slowest_period_nano = kNanosPerHour}});
  const uint64_t hour_end = (kSampleStart / kNanosPerHour + 1) * kNanosPerHour;
  now_unix_nano_ = hour_end - kNanosPerMinute;
  const std::optional<NoCapture> none = explained("pay", 600);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->reason, "not_yet");
  EXPECT_NE(none->explanation.find("their period of 1 h"), std::string::npos) << none->explanation;
  now_unix_nano_ = hour_end + 15 * kNanosPerSecond;
  EXPECT_EQ(reason_of("pay", 600), "no_trigger");
  know({{.host_name = "shop-2", .reports_skipped_captures = true, .slowest_period_nano = 24 * kNanosPerHour}});
  EXPECT_EQ(reason_of("pay", 600), "no_trigger") << "no agent has such a period";
}

TEST_F(NoCaptureTest, BeforeItsMinuteIsOverACaptureMayCome) {
  add_process("pay", 600, "shop-2", "fathom");
  know_nodes({"shop-2"});
  const uint64_t minute_end = (kSampleStart / kNanosPerMinute + 1) * kNanosPerMinute;
  now_unix_nano_ = minute_end + 10 * kNanosPerSecond;
  const std::optional<NoCapture> none = explained("pay", 600);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->reason, "not_yet");
  EXPECT_NE(none->explanation.find("ask again in 5 s"), std::string::npos) << none->explanation;
  EXPECT_EQ(reason_of("stock", 500), "no_client");
  now_unix_nano_ = minute_end + 15 * kNanosPerSecond;
  EXPECT_EQ(reason_of("pay", 600), "no_trigger");
}

// The capture covers the time from 188 ms before kSampleStart to one second after it.
TEST_F(NoCaptureTest, OtherRequestsCapturesNeedNoExplanationIfTheyHaveAllOfItsTime) {
  store::CaptureInfo info = sample_capture_info(3);
  info.trace_id = sample_trace_id(5);
  info.service = "pay";
  info.pid = 600;
  capture::Capture content = testing::sample_capture();
  content.service = "pay";
  content.pid = 600;
  sample_.add_capture(info, capture::encode(content));
  know({{.node_id = info.node_id.hex(), .host_name = "shop-1", .reports_skipped_captures = true}});
  const auto add_trace = [&](uint64_t trace, uint64_t duration_nano) {
    store::SpanView span{.trace_id = sample_trace_id(trace), .span_id = sample_span_id(70), .name = "work"};
    span.start_unix_nano = kSampleStart;
    span.end_unix_nano = kSampleStart + duration_nano;
    sample_.add_span(span, "pay", 600);
    return processes({.subject = {.trace = sample_trace_id(trace)}}).at(0);
  };
  const TimelineProcess covered = add_trace(2, 10 * kMilli), partly = add_trace(3, 1'500 * kMilli);
  EXPECT_EQ(covered.captures.size(), 1u);
  EXPECT_FALSE(covered.no_capture);
  EXPECT_EQ(partly.captures.size(), 1u);
  ASSERT_TRUE(partly.no_capture);
  EXPECT_EQ(partly.no_capture->reason, "no_trigger") << "what was captured at another time has the client";
}

TEST_F(NoCaptureTest, NothingIsSaidWhereOnlyAPartIsAskedFor) {
  const auto is_said = [](const TimelineProcess& process) { return process.no_capture.has_value(); };
  TimelineQuery query{.subject = {.trace = sample_trace_id(1)}};
  EXPECT_TRUE(std::ranges::any_of(processes(query), is_said));
  query.capture = sample_capture_id(1);
  EXPECT_FALSE(std::ranges::any_of(processes(query), is_said)) << "of one capture";
  query.capture.reset();
  query.span = sample_span_id(2);
  EXPECT_FALSE(std::ranges::any_of(processes(query), is_said)) << "the span has none of the others";
}

}  // namespace
}  // namespace fathom::query
