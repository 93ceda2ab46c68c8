#include <gtest/gtest.h>

#include "node-agent/uplink/testing/courier_fixture.h"

namespace fathom::agent {
namespace {

using namespace testing;

// Remembers what it was asked; answers when a test says so.
class FakeHandler : public ControlHandler {
 public:
  void thresholds(ingest::Thresholds thresholds) override { thresholds_.push_back(std::move(thresholds)); }
  void capture(CaptureRequest request, std::function<void(CaptureAnswer)> answer) override {
    captures_.emplace_back(std::move(request), std::move(answer));
  }
  void tracepoints(TracepointRequest request, std::function<void(TracepointAnswer)> answer) override {
    tracepoints_.emplace_back(std::move(request), std::move(answer));
  }
  void tracepoint_rules(std::vector<TracepointRule> rules) override { rules_.push_back(std::move(rules)); }
  std::vector<std::vector<TracepointRule>> rules_;
  std::vector<ingest::Thresholds> thresholds_;
  std::vector<std::pair<CaptureRequest, std::function<void(CaptureAnswer)>>> captures_;
  std::vector<std::pair<TracepointRequest, std::function<void(TracepointAnswer)>>> tracepoints_;
};

class CourierCaptures : public CourierTest {
 protected:
  void give(uint8_t number, size_t size = 100) { give(number, courier_->mark(), size); }
  void give(uint8_t number, const LocalInstant& made, size_t size = 100) {
    OutgoingCapture capture;
    capture.made = made;
    capture.begin.id.bytes[0] = number;
    capture.content = std::make_shared<const std::string>(size, 'c');
    courier_->send(std::move(capture), [this, number](CaptureFate fate) { fates_[number].push_back(fate); });
    world_.run();
  }
  void say(uint8_t number, ingest::CaptureProgress::State state) {
    ingest::CaptureProgress progress{.state = state};
    progress.id.bytes[0] = number;
    world_.link->progress(progress);
    world_.run();
  }
  void ask(LinkControl control) {
    world_.link->ask(std::move(control));
    world_.run();
  }
  std::map<uint8_t, std::vector<CaptureFate>> fates_;
  FakeHandler handler_;
};

TEST_F(CourierCaptures, WaitForTheOffsetAndCarryIt) {
  make();
  give(1);
  pass(100 * kMilli);
  world_.link->welcome();
  world_.run();
  EXPECT_TRUE(world_.link->begins.empty());
  answer_probe();
  ASSERT_EQ(world_.link->begins.size(), 1u);
  EXPECT_EQ(world_.link->begins[0].clock().offset_nano(),
            static_cast<int64_t>(5 * kSecond) - static_cast<int64_t>(FakeWorld::kRealMinusBoot));
  say(1, ingest::CaptureProgress::State::kDurable);
  EXPECT_EQ(fates_[1], std::vector{CaptureFate::kDurable});
}

TEST_F(CourierCaptures, CarryTheOffsetOfTheClockThatTheirTimesHave) {
  make();
  connect();
  const uint64_t set_forward_nano = 7 * kSecond;  // after the capture was made
  give(1, LocalInstant{world_.now + FakeWorld::kRealMinusBoot - set_forward_nano, world_.now, 0});
  ASSERT_EQ(world_.link->begins.size(), 1u);
  const ingest::v1::ClockOffset& clock = world_.link->begins[0].clock();
  const auto expected =
      static_cast<int64_t>(5 * kSecond + set_forward_nano) - static_cast<int64_t>(FakeWorld::kRealMinusBoot);
  EXPECT_LE(std::abs(clock.offset_nano() - expected), static_cast<int64_t>(clock.error_nano()));
  EXPECT_LT(clock.error_nano(), kSecond);
}

TEST_F(CourierCaptures, BeginAgainOverANewStream) {
  make();
  connect();
  give(1);
  ASSERT_EQ(world_.link->begins.size(), 1u);
  break_link();
  pass(10 * kSecond);
  connect();
  EXPECT_EQ(world_.link->begins.size(), 1u);
  EXPECT_EQ(courier_->status().capture_memory_bytes, 100u);
}

TEST_F(CourierCaptures, AreHaltedWhileSpansAre) {
  make();
  connect();
  send(1);
  ack(1, Ack::kRetry, 500 * kMilli);
  give(1);
  EXPECT_TRUE(world_.link->begins.empty()) << "the collector has no memory for spans";
  pass(700 * kMilli);
  EXPECT_TRUE(world_.link->begins.empty()) << "the one batch that tries alone";
  ack(2);
  EXPECT_EQ(world_.link->begins.size(), 1u);
}

TEST_F(CourierCaptures, AnOrderlyEndWaitsHalfTheGrace) {
  make();
  connect();
  give(1);
  give(2);
  bool finished = false;
  courier_->finish(10 * kSecond, [&] { finished = true; });
  pass(4 * kSecond);
  EXPECT_FALSE(finished);
  say(1, ingest::CaptureProgress::State::kDurable);
  pass(500 * kMilli);
  EXPECT_FALSE(finished);
  pass(600 * kMilli);
  answer_probe();
  pass(100 * kMilli);
  EXPECT_TRUE(finished);
  EXPECT_EQ(courier_->status().lost_captures, (std::vector<std::pair<std::string, uint64_t>>{{"capture_unsent", 1}}));
  EXPECT_EQ(fates_[1], std::vector{CaptureFate::kDurable});
  EXPECT_TRUE(fates_[2].empty());
}

TEST_F(CourierCaptures, AnEndWithoutAStreamDoesNotWait) {
  make();
  give(1);
  bool finished = false;
  courier_->finish(10 * kSecond, [&] { finished = true; });
  world_.run();
  EXPECT_TRUE(finished);
  EXPECT_EQ(courier_->status().lost_captures.size(), 1u);
}

TEST_F(CourierCaptures, WhatIsSkippedIsReportedWhileTheCollectorIsThere) {
  ingest::SkippedCapture skipped{.reason = SkipReason::kMemory};
  skipped.trace_id.bytes.fill('t');
  make();
  EXPECT_FALSE(courier_->report_skipped({skipped})) << "to be kept until it is";
  connect();
  EXPECT_TRUE(courier_->report_skipped({skipped}));
  ASSERT_EQ(world_.link->answers.size(), 1u);
  EXPECT_EQ(world_.link->answers[0].skipped_captures().captures(0).trace_id(), std::string(16, 't'));
  EXPECT_EQ(world_.link->answers[0].skipped_captures().captures(0).reason(), wire::SKIP_REASON_MEMORY);
  break_link();
  EXPECT_FALSE(courier_->report_skipped({skipped}));
}

TEST_F(CourierCaptures, ACollectorThatTakesNoneIsToldOfNone) {
  make();
  pass(100 * kMilli);
  world_.link->welcome(1'000'000, 100, 100'000, /*max_capture=*/0);
  world_.run();
  EXPECT_TRUE(courier_->report_skipped({ingest::SkippedCapture{}}));
  EXPECT_TRUE(world_.link->answers.empty());
}

TEST_F(CourierCaptures, WhatIsAskedIsHandedOverAndAnswered) {
  world_.control = &handler_;
  make();
  connect();
  ask(ingest::SaidThresholds{{true, {{"", "checkout", "GET /", 2, 9}}}});
  ASSERT_EQ(handler_.thresholds_.size(), 1u);
  EXPECT_TRUE(handler_.thresholds_[0].replaces);
  EXPECT_EQ(handler_.thresholds_[0].operations.at(0).operation, "GET /");
  ask(ingest::Asked<CaptureRequest>{{.request_id = 4, .pid = 5}});
  ask(ingest::Asked<TracepointRequest>{{.request_id = 6}});
  ASSERT_EQ(handler_.captures_.size(), 1u);
  ASSERT_EQ(handler_.tracepoints_.size(), 1u);
  EXPECT_TRUE(world_.link->answers.empty());
  handler_.tracepoints_[0].second({.request_id = 6});
  handler_.captures_[0].second({.request_id = 4, .skipped = "no"});
  ASSERT_EQ(world_.link->answers.size(), 2u);
  EXPECT_EQ(world_.link->answers[0].tracepoint_answer().request_id(), 6u);
  EXPECT_EQ(world_.link->answers[1].capture_answer().skipped(), "no");
}

TEST_F(CourierCaptures, RulesThatAreTooManyAreNotHandedOver) {
  world_.control = &handler_;
  make();
  connect();
  ask(ingest::Asked<std::vector<TracepointRule>>{{}, "too many rules"});
  EXPECT_TRUE(handler_.rules_.empty());
  ask(ingest::Asked<std::vector<TracepointRule>>{{{true, "cache.*", "", std::nullopt}}, ""});
  ASSERT_EQ(handler_.rules_.size(), 1u);
  EXPECT_EQ(handler_.rules_[0].at(0).pattern, "cache.*");
}

TEST_F(CourierCaptures, ThresholdsThatAreLeftOutAreCounted) {
  Counter& passed_over = counter("fathom_agent_passed_over_thresholds_total", "");
  const uint64_t before = passed_over.value();
  world_.control = &handler_;
  make();
  connect();
  ask(ingest::SaidThresholds{{true, {}}, 7});
  EXPECT_EQ(passed_over.value(), before + 7);
}

TEST_F(CourierCaptures, WhatCannotBeObeyedIsAnsweredHere) {
  world_.control = &handler_;
  make({.node_id = {{1}}});
  connect();
  ask(ingest::Asked<CaptureRequest>{{.request_id = 4, .pid = 5, .node_id = NodeId{{2}}}});
  ask(ingest::Asked<TracepointRequest>{{.request_id = 5}, "too many patterns"});
  EXPECT_TRUE(handler_.captures_.empty());
  EXPECT_TRUE(handler_.tracepoints_.empty());
  ASSERT_EQ(world_.link->answers.size(), 2u);
  EXPECT_EQ(world_.link->answers[0].capture_answer().request_id(), 4u);
  EXPECT_NE(world_.link->answers[0].capture_answer().skipped(), "");
  EXPECT_EQ(world_.link->answers[1].tracepoint_answer().failure(), "too many patterns");
  ask(ingest::Asked<CaptureRequest>{{.request_id = 4, .pid = 5, .node_id = NodeId{{1}}}});
  EXPECT_EQ(handler_.captures_.size(), 1u);
}

TEST_F(CourierCaptures, AnAnswerThatComesTooLateGoesNowhere) {
  world_.control = &handler_;
  make();
  connect();
  ask(ingest::Asked<CaptureRequest>{{.request_id = 4, .pid = 5}});
  break_link();
  handler_.captures_[0].second({.request_id = 4});
  pass(10 * kSecond);
  connect();
  handler_.captures_[0].second({.request_id = 4});
  EXPECT_TRUE(world_.link->answers.empty()) << "this stream did not ask";
  courier_.reset();
  handler_.captures_[0].second({.request_id = 4});
}

TEST_F(CourierCaptures, WithoutAHandlerNothingIsObeyed) {
  make();
  connect();
  ask(ingest::Asked<CaptureRequest>{{.request_id = 4, .pid = 5}});
  EXPECT_TRUE(world_.link->answers.empty());
}

TEST_F(CourierCaptures, TheServersRedactionRulesAreAppliedWithoutAHandler) {
  std::vector<ingest::RedactionRules> used;
  make({.use_redaction_rules = [&](const ingest::RedactionRules& rules) { used.push_back(rules); }});
  connect();
  const ingest::RedactionRules rules{"print", {"drop key a"}, "key"};
  ask(ingest::Asked<ingest::RedactionRules>{rules, ""});
  ask(ingest::Asked<ingest::RedactionRules>{{}, "too many"});
  ask(ingest::Asked<ingest::RedactionRules>{});
  ASSERT_EQ(used.size(), 2u) << "none of a message that is at fault";
  EXPECT_EQ(used[0], rules);
  EXPECT_EQ(used[1], ingest::RedactionRules());
  EXPECT_TRUE(world_.link->answers.empty());
}

}  // namespace
}  // namespace fathom::agent
