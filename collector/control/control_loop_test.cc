#include "collector/control/control_loop.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "collector/testing/fake_nodes.h"

namespace fathom::collector {
namespace {

using namespace testing;

class ControlLoopTest : public ::testing::Test {
 protected:
  ControlLoopTest() {
    options_.now_monotonic_nano = [this] { return monotonic_; };
    options_.now_unix_nano = [this] { return kUnix + monotonic_; };
  }

  ControlLoop& loop() {
    if (!loop_) loop_ = std::make_unique<ControlLoop>(options_, nodes_, learner_);
    return *loop_;
  }
  void pass(uint64_t nano) {
    monotonic_ += nano;
    loop().run_due();
  }
  // Answers gather in captured_.
  void capture(CaptureRequest request = {.service = "shop"}) {
    loop().capture(std::move(request), [this](auto replies) { captured_.push_back(std::move(replies)); });
  }
  void list_tracepoints(TracepointRequest request = {}) {
    loop().tracepoints(std::move(request), [this](auto replies) { listed_.push_back(std::move(replies)); });
  }
  static store::CaptureInfo info(char trace, CaptureTrigger trigger = CaptureTrigger::kSlow) {
    store::CaptureInfo info;
    info.trace_id.bytes.fill(static_cast<uint8_t>(trace));
    info.trigger = trigger;
    info.operation = "GET /cart";
    info.start_unix_nano = 100;
    info.end_unix_nano = 200;
    return info;
  }
  void teach(const std::string& operation, uint64_t duration_nano) {
    store::OperationStats stats;
    stats.key = {"", "shop", operation, store::SpanKind::kServer};
    stats.durations.record(duration_nano, stats.spans = 1000);
    learner_.seed({stats});
  }

  static constexpr uint64_t kUnix = 1'795'221'000'000'000'000;
  uint64_t monotonic_ = 1000 * kNanosPerSecond;
  ControlOptions options_;
  FakeNodes nodes_;
  ThresholdLearner learner_{{}};
  std::unique_ptr<ControlLoop> loop_;
  std::vector<Result<Replies<CaptureAnswer>>> captured_;
  std::vector<Result<Replies<TracepointAnswer>>> listed_;
};

// ---- requests

TEST_F(ControlLoopTest, EveryNodeIsAskedAndAllAnswersComeBack) {
  nodes_.connect('a');
  nodes_.connect('b');
  capture({.service = "shop", .duration_nano = 7, .reason = "why not"});
  for (char node : {'a', 'b'}) {
    auto asked = nodes_.take(node);
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(asked[0].capture_request().service(), "shop");
    EXPECT_EQ(asked[0].capture_request().duration_nano(), 7u);
    EXPECT_EQ(asked[0].capture_request().reason(), "why not");
    EXPECT_EQ(asked[0].capture_request().trigger(), wire::CAPTURE_TRIGGER_REQUESTED);
    EXPECT_EQ(asked[0].capture_request().request_id(), 1u);
  }
  store::CaptureId id;
  id.bytes.fill(9);
  loop().answered(node_id('b'), CaptureAnswer{1, {id}, ""});
  loop().answered(node_id('b'), CaptureAnswer{1, {}, "twice"});
  loop().answered(node_id('a'), CaptureAnswer{7, {}, "of another request"});
  loop().answered(node_id('c'), CaptureAnswer{1, {}, "of a node that was not asked"});
  EXPECT_TRUE(captured_.empty());
  loop().answered(node_id('a'), CaptureAnswer{1, {}, "no such service here"});
  ASSERT_EQ(captured_.size(), 1u);
  ASSERT_TRUE(captured_[0].ok());
  EXPECT_EQ(captured_[0]->request_id, 1u);
  ASSERT_EQ(captured_[0]->nodes.size(), 2u);
  EXPECT_EQ(captured_[0]->nodes[0].node.host_name, "host-a");
  EXPECT_EQ(captured_[0]->nodes[0].answer->skipped, "no such service here");
  EXPECT_EQ(captured_[0]->nodes[1].answer->capture_ids, std::vector{id});
}

TEST_F(ControlLoopTest, OnlyTheNamedNodeIsAsked) {
  nodes_.connect('a');
  nodes_.connect('b');
  capture({.pid = 7, .node_id = node_id('b')});
  EXPECT_TRUE(nodes_.take('a').empty());
  EXPECT_EQ(nodes_.take('b').at(0).capture_request().node_id(), std::string(16, 'b'));
  capture({.pid = 7, .node_id = node_id('z')});
  ASSERT_EQ(captured_.size(), 1u);
  EXPECT_EQ(captured_[0].error().code, ErrorCode::kNotFound);
  EXPECT_NE(captured_[0].error().message.find(node_id('z').hex()), std::string::npos);
}

TEST_F(ControlLoopTest, WithoutNodesThereIsNothingToWaitFor) {
  capture();
  ASSERT_EQ(captured_.size(), 1u);
  EXPECT_EQ(captured_[0].error().code, ErrorCode::kUnavailable);
}

TEST_F(ControlLoopTest, WhoDoesNotAnswerIsNotWaitedForForever) {
  nodes_.connect('a');
  nodes_.connect('b');
  uint64_t late = counted_unanswered("capture", "deadline");
  loop().run_due();
  nodes_.take('a');
  nodes_.take('b');
  capture();
  loop().answered(node_id('a'), CaptureAnswer{1, {}, ""});
  EXPECT_EQ(loop().run_due(), monotonic_ + 5 * kNanosPerSecond);
  pass(5 * kNanosPerSecond - 1);
  EXPECT_TRUE(captured_.empty());
  pass(1);
  ASSERT_EQ(captured_.size(), 1u);
  EXPECT_TRUE(captured_[0]->nodes[0].answer);
  EXPECT_FALSE(captured_[0]->nodes[1].answer);
  EXPECT_EQ(captured_[0]->nodes[1].failure, "the node did not answer in time");
  EXPECT_EQ(counted_unanswered("capture", "deadline"), late + 1);
  loop().answered(node_id('b'), CaptureAnswer{1, {}, "too late"});
  EXPECT_EQ(captured_.size(), 1u);
}

TEST_F(ControlLoopTest, AWindowThatLiesAheadIsWaitedFor) {
  nodes_.connect('a');
  uint64_t now = kUnix + monotonic_;
  capture({.service = "s", .start_unix_nano = now, .end_unix_nano = now + 10 * kNanosPerSecond});
  capture({.service = "s", .start_unix_nano = now, .end_unix_nano = UINT64_MAX});
  pass(15 * kNanosPerSecond - 1);
  EXPECT_TRUE(captured_.empty());
  pass(1);
  EXPECT_EQ(captured_.size(), 1u);
  pass(50 * kNanosPerSecond);
  EXPECT_EQ(captured_.size(), 2u) << "a minute ahead at most";
}

TEST_F(ControlLoopTest, ANodeThatGoesIsNotWaitedFor) {
  nodes_.connect('a');
  uint64_t gone = counted_unanswered("tracepoints", "gone");
  list_tracepoints();
  loop().node_gone(node_id('a'));
  EXPECT_TRUE(listed_.empty()) << "an older stream than the one that was asked has gone";
  nodes_.disconnect('a');
  loop().node_gone(node_id('a'));
  ASSERT_EQ(listed_.size(), 1u);
  EXPECT_EQ(listed_[0]->nodes[0].failure, "the node has gone");
  EXPECT_EQ(counted_unanswered("tracepoints", "gone"), gone + 1);
}

TEST_F(ControlLoopTest, ANodeThatIsBackIsNotWaitedForWhereItsOlderStreamWasAsked) {
  nodes_.connect('a');
  nodes_.connect('b');
  uint64_t gone = counted_unanswered("capture", "gone");
  capture();
  loop().answered(node_id('b'), CaptureAnswer{1, {}, ""});
  nodes_.connect('a');
  capture();
  loop().node_gone(node_id('a'));
  loop().node_connected(node_id('a'));
  ASSERT_EQ(captured_.size(), 1u) << "the first is over, the second is not";
  EXPECT_EQ(captured_[0]->request_id, 1u);
  EXPECT_EQ(captured_[0]->nodes[0].failure, "the node has gone");
  EXPECT_EQ(counted_unanswered("capture", "gone"), gone + 1);
  for (char node : {'a', 'b'}) loop().answered(node_id(node), CaptureAnswer{2, {}, "here"});
  ASSERT_EQ(captured_.size(), 2u);
  EXPECT_EQ(captured_[1]->nodes[0].answer->skipped, "here");
}

TEST_F(ControlLoopTest, ANodeThatCannotBeAskedIsSaidSo) {
  nodes_.connect('a');
  nodes_.refuse('a');
  uint64_t unsent = counted_unanswered("capture", "unsent");
  capture();
  ASSERT_EQ(captured_.size(), 1u);
  EXPECT_NE(captured_[0]->nodes[0].failure, "");
  EXPECT_EQ(counted_unanswered("capture", "unsent"), unsent + 1);
}

TEST_F(ControlLoopTest, RequestsThatWaitAreBounded) {
  options_.captures.requests = 2;
  nodes_.connect('a');
  for (int i = 0; i < 3; ++i) capture();
  ASSERT_EQ(captured_.size(), 1u);
  EXPECT_EQ(captured_[0].error().code, ErrorCode::kUnavailable);
  list_tracepoints();
  EXPECT_TRUE(listed_.empty()) << "another kind";
  loop().end("over");
  EXPECT_EQ(captured_.size(), 3u);
  EXPECT_EQ(captured_[2]->nodes[0].failure, "over");
  EXPECT_EQ(listed_.size(), 1u);
}

TEST_F(ControlLoopTest, TracepointsAreAskedFor) {
  nodes_.connect('a');
  list_tracepoints({.action = TracepointAction::kEnable, .patterns = {"cache.*", "x"}, .service = "shop"});
  auto asked = nodes_.take('a').at(0).tracepoint_request();
  EXPECT_EQ(asked.action(), wire::TracepointRequest::ENABLE);
  EXPECT_EQ(asked.patterns_size(), 2);
  EXPECT_EQ(asked.service(), "shop");
  loop().answered(node_id('a'), TracepointAnswer{1, {{7, "shop", {{"cache.miss", "a.cc", 3, true}}}}});
  ASSERT_EQ(listed_.size(), 1u);
  EXPECT_EQ(listed_[0]->nodes[0].answer->programs.at(0).tracepoints.at(0).name, "cache.miss");
}

TEST_F(ControlLoopTest, FewRequestsForTracepointsWait) {
  nodes_.connect('a');
  for (int i = 0; i < 9; ++i) list_tracepoints();
  ASSERT_EQ(listed_.size(), 1u);
  EXPECT_EQ(listed_[0].error().code, ErrorCode::kUnavailable);
  capture();
  EXPECT_TRUE(captured_.empty());
}

TEST_F(ControlLoopTest, AllNodesTracepointsTogetherAreBounded) {
  options_.tracepoints.room = {.programs = 3, .tracepoints = 10};
  for (char node : {'a', 'b', 'c'}) nodes_.connect(node);
  auto answer = [this](char node, size_t programs, size_t tracepoints) {
    ProgramTracepoints program{7, "shop", std::vector<TracepointState>(tracepoints)};
    loop().answered(node_id(node), TracepointAnswer{1, std::vector(programs, program)});
  };
  list_tracepoints();
  answer('c', 1, 5);
  answer('a', 2, 3);
  answer('b', 1, 0);
  ASSERT_EQ(listed_.size(), 1u);
  const auto& nodes = listed_[0]->nodes;
  EXPECT_FALSE(nodes[2].answer->truncated);
  EXPECT_EQ(nodes[2].answer->programs.at(0).tracepoints.size(), 5u);
  EXPECT_TRUE(nodes[0].answer->truncated);
  ASSERT_EQ(nodes[0].answer->programs.size(), 2u);
  EXPECT_EQ(nodes[0].answer->programs[0].tracepoints.size(), 3u);
  EXPECT_FALSE(nodes[0].answer->programs[0].truncated);
  EXPECT_EQ(nodes[0].answer->programs[1].tracepoints.size(), 2u);
  EXPECT_TRUE(nodes[0].answer->programs[1].truncated);
  EXPECT_TRUE(nodes[1].answer->truncated);
  EXPECT_TRUE(nodes[1].answer->programs.empty());
  list_tracepoints();
  for (char node : {'a', 'b', 'c'}) loop().answered(node_id(node), TracepointAnswer{2, {{7, "shop", {{}}}}});
  EXPECT_FALSE(listed_.at(1)->nodes[2].answer->truncated) << "each request has its own room";
}

// ---- captures that make others be asked

TEST_F(ControlLoopTest, TheOthersAreAskedOncePerTrace) {
  for (char node : {'a', 'b', 'c'}) nodes_.connect(node);
  uint64_t before = ControlMetrics::get().remote.value();
  loop().capture_begins(node_id('a'), info('t'));
  EXPECT_TRUE(nodes_.take('a').empty());
  for (char node : {'b', 'c'}) {
    auto asked = nodes_.take(node);
    ASSERT_EQ(asked.size(), 1u);
    const auto& request = asked[0].capture_request();
    EXPECT_EQ(request.trigger(), wire::CAPTURE_TRIGGER_REMOTE);
    EXPECT_EQ(request.trace_id(), std::string(16, 't'));
    EXPECT_EQ(request.start_unix_nano(), 100u);
    EXPECT_EQ(request.end_unix_nano(), 200u);
    EXPECT_EQ(request.reason(), "captured on host-a: slow (GET /cart)");
  }
  loop().capture_begins(node_id('a'), info('t'));
  loop().capture_begins(node_id('b'), info('t', CaptureTrigger::kError));
  loop().capture_begins(node_id('b'), info('u', CaptureTrigger::kRemote));
  loop().capture_begins(node_id('b'), info('\0'));
  for (char node : {'a', 'b', 'c'}) EXPECT_TRUE(nodes_.take(node).empty()) << node;
  EXPECT_EQ(ControlMetrics::get().remote.value(), before + 1);
  pass(kNanosPerMinute);
  for (char node : {'a', 'b', 'c'}) nodes_.take(node);
  loop().capture_begins(node_id('b'), info('t'));
  EXPECT_EQ(nodes_.take('a').size(), 1u) << "a minute later it is forgotten";
}

TEST_F(ControlLoopTest, ARequestedTraceIsAskedForAlready) {
  nodes_.connect('a');
  nodes_.connect('b');
  CaptureRequest request;
  request.trace_id = info('t').trace_id;
  capture(request);
  EXPECT_EQ(nodes_.take('a').size() + nodes_.take('b').size(), 2u);
  loop().capture_begins(node_id('a'), info('t', CaptureTrigger::kRequested));
  EXPECT_TRUE(nodes_.take('b').empty());
}

TEST_F(ControlLoopTest, ATraceThatCouldNotBeAskedForIsAskedForWhenItsCaptureBegins) {
  options_.captures.requests = 1;
  CaptureRequest request;
  request.trace_id = info('t').trace_id;
  capture(request);
  EXPECT_EQ(captured_.size(), 1u) << "nobody is connected";
  nodes_.connect('a');
  nodes_.connect('b');
  capture();
  capture(request);
  EXPECT_EQ(captured_.size(), 2u) << "too many wait";
  nodes_.refuse('a');
  nodes_.refuse('b');
  loop().end("over");
  capture(request);
  EXPECT_EQ(captured_.size(), 4u) << "nobody could be sent to";
  nodes_.accept('b');
  nodes_.take('b');
  loop().capture_begins(node_id('a'), info('t'));
  EXPECT_EQ(nodes_.take('b').size(), 1u);
}

TEST_F(ControlLoopTest, TheOthersAreAskedForTheRestToo) {
  for (char node : {'a', 'b'}) nodes_.connect(node);
  store::CaptureInfo overdue = info('t', CaptureTrigger::kOverdue), rest = info('t');
  overdue.end_unix_nano = rest.start_unix_nano = 100 + 30 * kNanosPerMilli;
  rest.end_unix_nano = 100 + 300 * kNanosPerMilli;
  loop().capture_begins(node_id('a'), overdue);
  EXPECT_EQ(nodes_.take('b').at(0).capture_request().end_unix_nano(), overdue.end_unix_nano);
  loop().capture_begins(node_id('a'), rest);
  auto asked = nodes_.take('b');
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].capture_request().start_unix_nano(), overdue.start_unix_nano) << "what b did may be known by now";
  EXPECT_EQ(asked[0].capture_request().end_unix_nano(), rest.end_unix_nano);
  EXPECT_TRUE(nodes_.take('a').empty());
}

TEST_F(ControlLoopTest, AgentsThatDoNotKnowHoldsAreNotToldToHold) {
  for (char node : {'a', 'b', 'c'}) nodes_.connect(node);
  nodes_.hold_nothing('b');
  loop().slow_trace(node_id('a'), {info('t').trace_id, "GET /cart", 95});
  EXPECT_TRUE(nodes_.take('b').empty()) << "it would make a capture at once";
  EXPECT_EQ(nodes_.take('c').size(), 1u);
  loop().capture_begins(node_id('a'), info('t'));
  EXPECT_EQ(nodes_.take('b').size(), 1u);
}

TEST_F(ControlLoopTest, TheOthersHoldWhatMayBeAmongTheSlowest) {
  for (char node : {'a', 'b', 'c'}) nodes_.connect(node);
  const ingest::SlowTrace slow{info('t').trace_id, "GET /cart", 95, 1000, 2000, ClockOffset{-7, 1}};
  loop().slow_trace(node_id('a'), slow);
  EXPECT_TRUE(nodes_.take('a').empty());
  for (char node : {'b', 'c'}) {
    auto asked = nodes_.take(node);
    ASSERT_EQ(asked.size(), 1u);
    const auto& request = asked[0].capture_request();
    EXPECT_EQ(request.hold_nano(), 95u);
    EXPECT_EQ(request.trigger(), wire::CAPTURE_TRIGGER_REMOTE);
    EXPECT_EQ(request.trace_id(), std::string(16, 't'));
    EXPECT_EQ(request.reason(), "among the slowest on host-a: GET /cart");
    EXPECT_EQ(request.start_unix_nano(), 993u);
    EXPECT_EQ(request.end_unix_nano(), 1993u);
  }
  loop().slow_trace(node_id('b'), slow);
  for (char node : {'a', 'b', 'c'}) EXPECT_TRUE(nodes_.take(node).empty()) << "once per trace";
  loop().capture_begins(node_id('a'), info('t'));
  auto asked = nodes_.take('b');
  ASSERT_EQ(asked.size(), 1u) << "now it is wanted";
  EXPECT_EQ(asked[0].capture_request().hold_nano(), 0u);
}

TEST_F(ControlLoopTest, RemoteTriggersAreLimitedAndWhatIsSkippedIsCounted) {
  options_.remote = {.traces_per_s = 10, .burst = 20};
  nodes_.connect('a');
  nodes_.connect('b');
  loop();
  uint64_t skipped = ControlMetrics::get().remote_skipped.value();
  for (int i = 1; i <= 25; ++i) loop().capture_begins(node_id('a'), info(static_cast<char>(i)));
  EXPECT_EQ(nodes_.take('b').size(), 20u);
  EXPECT_EQ(ControlMetrics::get().remote_skipped.value(), skipped + 5);
  monotonic_ += kNanosPerSecond / 2;
  for (int i = 20; i <= 40; ++i) loop().capture_begins(node_id('a'), info(static_cast<char>(i)));
  auto asked = nodes_.take('b');
  ASSERT_EQ(asked.size(), 5u);
  EXPECT_EQ(asked[0].capture_request().trace_id(), std::string(16, '\x15'))
      << "what was skipped may be asked for later";
}

TEST_F(ControlLoopTest, AloneThereIsNobodyToAsk) {
  nodes_.connect('a');
  uint64_t before = ControlMetrics::get().remote.value();
  for (int i = 1; i <= 25; ++i) loop().capture_begins(node_id('a'), info(static_cast<char>(i)));
  EXPECT_EQ(ControlMetrics::get().remote.value(), before);
}

// ---- thresholds

TEST_F(ControlLoopTest, ANodeIsToldAllAndThenWhatChanges) {
  teach("GET /", 10'000'000);
  nodes_.connect('a');
  loop().node_connected(node_id('a'));
  auto told = nodes_.take('a');
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].thresholds().replaces()) << "what another server said is void, though nothing is known yet";
  EXPECT_EQ(told[0].thresholds().operations_size(), 0);
  pass(0);
  told = nodes_.take('a');
  ASSERT_EQ(told.size(), 1u);
  EXPECT_FALSE(told[0].thresholds().replaces());
  ASSERT_EQ(told[0].thresholds().operations_size(), 1);
  EXPECT_EQ(told[0].thresholds().operations(0).operation(), "GET /");
  EXPECT_EQ(told[0].thresholds().operations(0).kind(), 2u);
  pass(5 * kNanosPerSecond);
  EXPECT_TRUE(nodes_.take('a').empty()) << "nothing has changed";
  nodes_.connect('b');
  loop().node_connected(node_id('b'));
  told = nodes_.take('b');
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].thresholds().replaces());
  EXPECT_EQ(told[0].thresholds().operations_size(), 1);
  teach("GET /b", 10'000'000);
  pass(5 * kNanosPerSecond - 1);
  EXPECT_TRUE(nodes_.take('a').empty());
  pass(1);
  EXPECT_EQ(nodes_.take('a').at(0).thresholds().operations(0).operation(), "GET /b");
  EXPECT_EQ(nodes_.take('b').size(), 1u);
}

TEST_F(ControlLoopTest, WhoMissedSomethingIsToldAllAgain) {
  teach("GET /", 10'000'000);
  nodes_.connect('a');
  nodes_.refuse('a');
  loop().node_connected(node_id('a'));
  pass(0);
  nodes_.accept('a');
  pass(5 * kNanosPerSecond);
  auto told = nodes_.take('a');
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].thresholds().replaces());
  EXPECT_EQ(told[0].thresholds().operations_size(), 1);
  nodes_.disconnect('a');
  loop().node_gone(node_id('a'));
  nodes_.connect('a');
  loop().node_connected(node_id('a'));
  EXPECT_TRUE(nodes_.take('a').at(0).thresholds().replaces()) << "a new stream knows nothing";
}

TEST_F(ControlLoopTest, ANewStreamIsToldAllThoughNobodySaidThatItIsNew) {
  teach("GET /", 10'000'000);
  nodes_.connect('a');
  loop().node_connected(node_id('a'));
  pass(0);
  nodes_.take('a');
  nodes_.connect('a');  // and what the streams say is lost: too much waits to be looked at
  pass(5 * kNanosPerSecond);
  auto told = nodes_.take('a');
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].thresholds().replaces());
  EXPECT_EQ(told[0].thresholds().operations_size(), 1);
  pass(5 * kNanosPerSecond);
  EXPECT_TRUE(nodes_.take('a').empty()) << "it knows all by now";
}

TEST_F(ControlLoopTest, ANewStreamThatCannotBeToldAllIsToldLater) {
  teach("GET /", 10'000'000);
  nodes_.connect('a');
  loop().node_connected(node_id('a'));
  pass(0);
  nodes_.take('a');
  nodes_.connect('a');
  loop().node_gone(node_id('a'));
  nodes_.refuse('a');
  loop().node_connected(node_id('a'));
  nodes_.accept('a');
  pass(5 * kNanosPerSecond);
  auto told = nodes_.take('a');
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].thresholds().replaces());
}

TEST_F(ControlLoopTest, ManyThresholdsGoInSeveralMessages) {
  std::string name(1000, 'n');
  for (int i = 0; i < 4000; ++i) teach(name + std::to_string(i), 10'000'000);
  nodes_.connect('a');
  pass(0);
  nodes_.connect('b');
  nodes_.take('b');
  loop().node_connected(node_id('b'));
  auto told = nodes_.take('b');
  ASSERT_GT(told.size(), 1u);
  int operations = 0;
  for (size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].thresholds().replaces(), i == 0);
    operations += told[i].thresholds().operations_size();
  }
  EXPECT_EQ(operations, 4000);
}

}  // namespace
}  // namespace fathom::collector
