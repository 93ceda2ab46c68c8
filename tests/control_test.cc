// What the server asks of agents, each side for real: learnt thresholds reach every agent, what one captures the others
// are asked for, and people's requests come back with everybody's answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>

#include "base/time.h"
#include "collector/collector.h"
#include "collector/control/control_router.h"
#include "node-agent/uplink/uplink.h"
#include "otlp/trace_service.pb.h"
#include "store/model/memory_captures.h"
#include "store/model/memory_store.h"
#include "tests/testing/timeout.h"

namespace fathom {
namespace {

using testing::kTestTimeout;

constexpr uint64_t kUsualNano = 10'000'000;
constexpr int kRemoteTraces = 3;  // requests to other nodes for their parts of a trace

// An agent without programs: it keeps what it is told and asked, and answers with its own number.
class Agent : public agent::ControlHandler {
 public:
  // All its captures begin at `captures_begin_unix_nano`, and take kUsualNano.
  Agent(boost::asio::io_context& loop, const std::string& collector_address, uint8_t number,
        uint64_t captures_begin_unix_nano)
      : number_(number), captures_begin_unix_nano_(captures_begin_unix_nano) {
    agent::UplinkOptions options;
    options.collector_address = collector_address;
    options.node_id.bytes[0] = number;
    options.host_name = "host-" + std::to_string(number);
    uplink_ = std::make_unique<agent::Uplink>(loop, options, nullptr);
    uplink_->set_control(this);
    EXPECT_TRUE(uplink_->start().ok());
  }

  void thresholds(ingest::Thresholds said) override {
    if (said.replaces) told.clear();
    told.insert(told.end(), said.operations.begin(), said.operations.end());
    was_told = true;
  }
  void capture(agent::CaptureRequest request, std::function<void(agent::CaptureAnswer)> answer) override {
    asked.push_back(request);
    answer({.request_id = request.request_id, .capture_ids = {{{number_}}}, .skipped = request.service});
  }
  void tracepoints(agent::TracepointRequest request, std::function<void(agent::TracepointAnswer)> answer) override {
    bool on = request.action == agent::TracepointAction::kEnable;
    answer({.request_id = request.request_id, .programs = {{number_, "shop", {{request.patterns.at(0), "a", 1, on}}}}});
  }

  void tracepoint_rules(std::vector<agent::TracepointRule> said) override {
    rules.clear();
    for (const agent::TracepointRule& rule : said) rules.push_back((rule.enables ? "+" : "-") + rule.pattern);
  }

  void send_spans(size_t spans) {
    opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest request;
    auto& resource = *request.add_resource_spans();
    auto& attribute = *resource.mutable_resource()->add_attributes();
    attribute.set_key("service.name");
    attribute.mutable_value()->set_string_value("shop");
    auto& scope = *resource.add_scope_spans();
    for (size_t i = 0; i < spans; ++i) {
      auto& span = *scope.add_spans();
      span.set_trace_id(std::string(16, 't'));
      span.set_span_id("span" + std::to_string(1000 + i));
      span.set_name("GET /cart");
      span.set_kind(opentelemetry::proto::trace::v1::Span::SPAN_KIND_SERVER);
      span.set_start_time_unix_nano(now_unix_nano());
      span.set_end_time_unix_nano(span.start_time_unix_nano() + kUsualNano);
    }
    agent::OutgoingBatch batch;
    batch.identity[0] = 1;
    batch.otlp = request.SerializeAsString();
    batch.spans = static_cast<uint32_t>(spans);
    uplink_->send(std::move(batch), [](agent::Outcome) {});
  }
  void send_capture(char trace) {
    agent::OutgoingCapture capture;
    capture.begin.id = {{number_, static_cast<uint8_t>(trace)}};
    capture.begin.trace_id.bytes.fill(static_cast<uint8_t>(trace));
    capture.begin.trigger = CaptureTrigger::kError;
    capture.begin.start_unix_nano = captures_begin_unix_nano_;
    capture.begin.end_unix_nano = capture.begin.start_unix_nano + kUsualNano;
    capture.content = std::make_shared<const std::string>("content");
    capture.made = uplink_->mark();
    uplink_->send(std::move(capture), [](agent::CaptureFate) {});
  }

  std::vector<agent::OperationThreshold> told;
  bool was_told = false;
  std::vector<std::string> rules;  // of tracepoints, as they were told last
  std::vector<agent::CaptureRequest> asked;

 private:
  const uint8_t number_;
  const uint64_t captures_begin_unix_nano_;
  std::unique_ptr<agent::Uplink> uplink_;
};

class ControlOverStreams : public ::testing::Test {
 protected:
  ControlOverStreams() {
    router_->start(*streams_, *learner_);
    collector::CollectorOptions options;
    options.otlp_grpc_address = options.otlp_http_address = "";
    options.ingest_address = "127.0.0.1:0";
    options.captures = &captures_;
    options.streams = streams_;
    options.answers = router_;
    options.observer = learner_;
    collector_ = std::make_unique<collector::Collector>(options, spans_);
    Result<collector::CollectorAddresses> addresses = collector_->start();
    EXPECT_TRUE(addresses.ok());
    const uint64_t captures_begin_unix_nano = now_unix_nano() - kNanosPerSecond;
    first_ = std::make_unique<Agent>(loop_, addresses->ingest, 1, captures_begin_unix_nano);
    second_ = std::make_unique<Agent>(loop_, addresses->ingest, 2, captures_begin_unix_nano);
    EXPECT_TRUE(run_until([this] { return first_->was_told && second_->was_told; })) << "as they connected";
  }
  ~ControlOverStreams() override {
    first_.reset();
    second_.reset();
    collector_.reset();
    router_->stop();
  }

  static std::shared_ptr<collector::ControlRouter> make_router() {
    collector::ControlOptions options;
    options.thresholds_every_nano = 20'000'000;
    options.remote = {.traces_per_s = 0.001, .burst = kRemoteTraces};
    return std::make_shared<collector::ControlRouter>(options);
  }
  bool run_until(const std::function<bool()>& holds) {
    auto end = std::chrono::steady_clock::now() + kTestTimeout;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(10));
    }
    return true;
  }
  // Goes on with the agents' loop until the future has its value.
  template <typename T>
  T wait(std::future<T> future) {
    EXPECT_TRUE(run_until([&] { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
    return future.get();
  }

  boost::asio::io_context loop_;
  store::MemoryStore spans_;
  store::MemoryCaptures captures_;
  std::shared_ptr<collector::ThresholdLearner> learner_ =
      std::make_shared<collector::ThresholdLearner>(collector::LearnerOptions{});
  std::shared_ptr<collector::NodeStreams> streams_ = std::make_shared<collector::NodeStreams>();
  std::shared_ptr<collector::ControlRouter> router_ = make_router();
  std::unique_ptr<collector::Collector> collector_;
  std::unique_ptr<Agent> first_, second_;
};

TEST_F(ControlOverStreams, WhatIsLearntFromOneReachesAll) {
  first_->send_spans(100);
  ASSERT_TRUE(run_until([this] { return !first_->told.empty() && !second_->told.empty(); }));
  for (const Agent* agent : {first_.get(), second_.get()}) {
    ASSERT_EQ(agent->told.size(), 1u);
    EXPECT_EQ(agent->told[0].service, "shop");
    EXPECT_EQ(agent->told[0].operation, "GET /cart");
    EXPECT_EQ(agent->told[0].kind, 2);
    EXPECT_NEAR(static_cast<double>(agent->told[0].threshold_nano), 2.0 * kUsualNano, 0.02 * kUsualNano);
  }
}

TEST_F(ControlOverStreams, WhatOneCapturesTheOtherIsAskedForOnce) {
  first_->send_capture('t');
  ASSERT_TRUE(run_until([this] { return !second_->asked.empty(); }));
  const agent::CaptureRequest& request = second_->asked[0];
  EXPECT_EQ(request.trigger, CaptureTrigger::kRemote);
  EXPECT_EQ(request.trace_id.bytes[5], 't');
  EXPECT_EQ(request.end_unix_nano - request.start_unix_nano, kUsualNano);
  second_->send_capture('t');
  second_->send_capture('u');
  ASSERT_TRUE(run_until([this] { return !first_->asked.empty(); }));
  EXPECT_EQ(first_->asked[0].trace_id.bytes[5], 'u') << "not the trace that it has captured itself";
  EXPECT_EQ(second_->asked.size(), 1u);
}

TEST_F(ControlOverStreams, OfANodeThatIsNotAskedTheStoreHasAReport) {
  for (int i = 0; i <= kRemoteTraces; ++i) first_->send_capture(static_cast<char>('t' + i));
  std::vector<store::SkippedCapture> reports;
  ASSERT_TRUE(run_until([&] {
    TraceId trace;
    trace.bytes.fill('t' + kRemoteTraces);
    store::QueryBudget budget;
    reports = captures_.skipped_of_trace(trace, budget).value();
    return !reports.empty();
  }));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].node_id.bytes[0], 2u);
  EXPECT_EQ(reports[0].node_name, "host-2");
  EXPECT_EQ(reports[0].trigger, CaptureTrigger::kRemote);
  EXPECT_EQ(reports[0].reason, SkipReason::kRefused);
  EXPECT_TRUE(run_until([this] { return second_->asked.size() == kRemoteTraces; }));
}

TEST_F(ControlOverStreams, RequestsComeBackWithEverybodysAnswer) {
  std::promise<Result<collector::Replies<collector::CaptureAnswer>>> captures;
  router_->capture({.service = "shop"}, [&](auto replies) { captures.set_value(std::move(replies)); });
  auto replies = wait(captures.get_future());
  ASSERT_TRUE(replies.ok());
  ASSERT_EQ(replies->nodes.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(replies->nodes[i].node.host_name, "host-" + std::to_string(i + 1));
    ASSERT_TRUE(replies->nodes[i].answer);
    EXPECT_EQ(replies->nodes[i].answer->capture_ids.at(0).bytes[0], i + 1);
    EXPECT_EQ(replies->nodes[i].answer->skipped, "shop");
  }
  std::promise<Result<collector::Replies<collector::TracepointAnswer>>> tracepoints;
  collector::TracepointRequest enable{.action = collector::TracepointAction::kEnable, .patterns = {"a.*"}};
  enable.node_id = replies->nodes[1].node.node_id;
  router_->tracepoints(enable, [&](auto answer) { tracepoints.set_value(std::move(answer)); });
  auto switched = wait(tracepoints.get_future());
  ASSERT_TRUE(switched.ok());
  ASSERT_EQ(switched->nodes.size(), 1u);
  EXPECT_EQ(switched->nodes[0].answer->programs.at(0).pid, 2u);
  EXPECT_TRUE(switched->nodes[0].answer->programs.at(0).tracepoints.at(0).on);
  EXPECT_TRUE(run_until([this] { return second_->rules == std::vector<std::string>{"+a.*"}; }));
  EXPECT_TRUE(first_->rules.empty()) << "it was said of the other node";
}

}  // namespace
}  // namespace fathom
