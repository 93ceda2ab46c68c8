#include "collector/agents/session_captures.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "collector/agents/session.h"
#include "collector/testing/agent_peer.h"
#include "collector/testing/fake_captures.h"
#include "collector/testing/fake_store.h"
#include "collector/testing/requests.h"
#include "ingest/collector_messages.h"
#include "ingest/limits.h"

namespace fathom::collector {
namespace {

using namespace testing;
using Step = FakeCaptures::Step;
using Wire = wire::CaptureProgress;

store::CaptureId id_of(char letter) {
  store::CaptureId id;
  id.bytes.fill(static_cast<uint8_t>(letter));
  return id;
}

class RecordingAnswers : public NodeAnswers {
 public:
  void node_connected(const NodeId& node) override { said.push_back("connected " + first(node)); }
  void node_gone(const NodeId& node) override { said.push_back("gone " + first(node)); }
  void answered(const NodeId& node, CaptureAnswer answer) override {
    said.push_back("capture " + first(node) + std::to_string(answer.request_id));
  }
  void answered(const NodeId& node, TracepointAnswer answer) override {
    said.push_back("tracepoints " + first(node) + std::to_string(answer.request_id) + answer.failure);
  }
  void slow_trace(const NodeId&, ingest::SlowTrace trace) override { slow_traces.push_back(std::move(trace)); }
  std::vector<ingest::SlowTrace> slow_traces;
  void capture_begins(const NodeId& node, const store::CaptureInfo& info) override {
    said.push_back("begins " + first(node) + info.node_name);
  }
  std::vector<std::string> said;

 private:
  static std::string first(const NodeId& node) { return std::string(node.view().substr(0, 1)); }
};

class SessionCapturesTest : public ::testing::Test {
 protected:
  ~SessionCapturesTest() override {
    captures_.release();
    session_.reset();
    if (intake_) intake_->stop();
  }
  void make(CaptureIntakeOptions options = {.retry_delay_nano = 77}, uint64_t window = 8 << 20) {
    intake_ = std::make_shared<CaptureIntake>(options, captures_);
    auto context = std::make_shared<SessionContext>();
    context->ingest = std::make_shared<Ingest>(IngestOptions{}, spans_);
    context->nodes = std::make_shared<NodeRegistry>();
    context->limits.max_capture_bytes_under_way = window;
    context->captures = intake_;
    context->streams = streams_;
    context->answers = answers_;
    context_ = context;
    open();
  }
  void open() {
    wire_ = std::make_shared<RecordingWire>();
    session_ = std::make_shared<AgentSession>(context_, wire_);
    wire::AgentMessage greeting = hello();
    greeting.mutable_hello()->set_takes_requests(true);
    say(greeting);
  }
  void say(const wire::AgentMessage& message) {
    session_->message(message.SerializeAsString(), context_->ingest->open(), 4000);
  }
  void send_all(char id, const std::string& content, size_t piece = 1000) {
    say(capture_begin(id, content.size()));
    for (size_t at = 0; at < content.size(); at += piece) say(capture_part(id, at, content.substr(at, piece)));
  }
  // The last that was said; there must be something.
  wire::CaptureProgress last() {
    auto progress = wire_->progress();
    return progress.empty() ? wire::CaptureProgress() : progress.back();
  }
  static uint64_t counted(const char* outcome) {
    return counter("fathom_captures_received_total", "", label("outcome", outcome)).value();
  }

  FakeCaptures captures_;
  FakeStore spans_;
  std::shared_ptr<CaptureIntake> intake_;
  std::shared_ptr<NodeStreams> streams_ = std::make_shared<NodeStreams>();
  std::shared_ptr<RecordingAnswers> answers_ = std::make_shared<RecordingAnswers>();
  std::shared_ptr<const SessionContext> context_;
  std::shared_ptr<RecordingWire> wire_;
  std::shared_ptr<AgentSession> session_;
};

TEST_F(SessionCapturesTest, WhatComesIsStoredAndAnswered) {
  make();
  EXPECT_EQ(wire_->messages().at(0).welcome().max_capture_bytes(), CaptureIntakeOptions().most_bytes);
  EXPECT_EQ(wire_->messages()[0].welcome().max_capture_bytes_under_way(), 8u << 20);
  uint64_t before = counted("durable");
  std::string content(5500, 'x');
  send_all('a', content);
  ASSERT_TRUE(wire_->wait_for_answers(1));
  EXPECT_EQ(last().state(), Wire::DURABLE);
  EXPECT_TRUE(wire_->wait_for_taken('a', content.size()));
  EXPECT_EQ(captures_.read(id_of('a'), 0, 10'000).value(), content);
  store::CaptureInfo info = captures_.info(id_of('a')).value().info;
  EXPECT_EQ(info.node_id, id_of('n'));
  EXPECT_EQ(info.node_name, "host-n");
  EXPECT_EQ(counted("durable"), before + 1);
  EXPECT_FALSE(wire_->ended());
}

TEST_F(SessionCapturesTest, ProgressOnlyGrowsAndTheAnswerIsTheLast) {
  make();
  std::string content(3 << 20, 'x');
  send_all('a', content, 100'000);
  ASSERT_TRUE(wire_->wait_for_answers(1));
  uint64_t taken = 0;
  auto progress = wire_->progress();
  for (size_t i = 0; i + 1 < progress.size(); ++i) {
    EXPECT_EQ(progress[i].state(), Wire::TAKEN);
    EXPECT_GT(progress[i].taken_bytes(), taken);
    taken = progress[i].taken_bytes();
  }
  EXPECT_EQ(taken, content.size());
  EXPECT_EQ(progress.back().state(), Wire::DURABLE);
}

TEST_F(SessionCapturesTest, WhatIsStoredAlreadyIsDurableAtOnce) {
  make();
  std::string content(500, 'x');
  send_all('a', content);
  ASSERT_TRUE(wire_->wait_for_answers(1));
  wire::AgentMessage begin = capture_begin('a', content.size());
  begin.mutable_capture_begin()->set_sha256(std::string(captures_.info(id_of('a')).value().info.sha256.view()));
  say(begin);
  ASSERT_TRUE(wire_->wait_for_answers(2)) << "without its parts";
  EXPECT_EQ(last().state(), Wire::DURABLE);
  say(capture_part('a', 0, content));
  EXPECT_FALSE(wire_->ended()) << "a part may cross the answer";
}

TEST_F(SessionCapturesTest, FaultsOfTheStoreBecomeAnswers) {
  make();
  char id = 'a';
  for (Step step : {Step::kBegin, Step::kAppend, Step::kFinish}) {
    size_t answers = static_cast<size_t>(id - 'a') * 2;
    captures_.fail(step, unavailable("the disk is full"));
    send_all(id, "content");
    ASSERT_TRUE(wire_->wait_for_answers(answers + 1));
    EXPECT_EQ(last().state(), Wire::RETRY) << static_cast<int>(step);
    EXPECT_EQ(last().retry_after_nano(), 77u);
    EXPECT_EQ(last().message(), "the disk is full");
    captures_.fail(step, invalid("never"));
    send_all(id, "content");
    ASSERT_TRUE(wire_->wait_for_answers(answers + 2));
    EXPECT_EQ(last().state(), Wire::REFUSED) << static_cast<int>(step);
    ++id;
  }
  EXPECT_FALSE(wire_->ended());
  send_all('a', "content");
  ASSERT_TRUE(wire_->wait_for_answers(7));
  EXPECT_EQ(last().state(), Wire::DURABLE) << "and again from its begin";
}

TEST_F(SessionCapturesTest, WhatNoCollectorTakesIsRefused) {
  make({.most_bytes = 1000});
  say(capture_begin('a', 1001));
  say(capture_begin('b', 0));
  wire::AgentMessage strange = capture_begin('c', 10);
  strange.mutable_capture_begin()->set_trigger(static_cast<wire::CaptureTrigger>(99));
  say(strange);
  ASSERT_TRUE(wire_->wait_for_answers(3));
  for (const auto& progress : wire_->progress()) {
    EXPECT_EQ(progress.state(), Wire::REFUSED);
    EXPECT_NE(progress.message(), "");
  }
  EXPECT_FALSE(wire_->ended());
}

TEST_F(SessionCapturesTest, WithoutAStoreWelcomeSaysSoAndAllAreRefused) {
  auto context = std::make_shared<SessionContext>();
  context->ingest = std::make_shared<Ingest>(IngestOptions{}, spans_);
  context->nodes = std::make_shared<NodeRegistry>();
  context_ = context;
  open();
  EXPECT_EQ(wire_->messages().at(0).welcome().max_capture_bytes(), 0u);
  EXPECT_EQ(wire_->messages()[0].welcome().max_capture_bytes_under_way(), 0u);
  say(capture_begin('a', 10));
  say(capture_part('a', 0, "0123456789"));
  EXPECT_EQ(last().state(), Wire::REFUSED);
  EXPECT_FALSE(wire_->ended());
}

TEST_F(SessionCapturesTest, WhoSendsMoreThanTheWindowIsCutOff) {
  make({}, 1000);
  captures_.hold();
  say(capture_begin('a', 2000));
  say(capture_part('a', 0, std::string(1000, 'x')));
  EXPECT_FALSE(wire_->ended());
  say(capture_part('a', 1000, "x"));
  EXPECT_EQ(wire_->ended(), StreamEnd::kTooMuch);
}

TEST_F(SessionCapturesTest, TheWindowIsFreeAgainWhenBytesAreTakenOrAnswered) {
  make({}, 1000);
  say(capture_begin('a', 2000));
  say(capture_part('a', 0, std::string(1000, 'x')));
  ASSERT_TRUE(wire_->wait_for_taken('a', 1000));
  say(capture_part('a', 1000, std::string(1000, 'x')));
  ASSERT_TRUE(wire_->wait_for_answers(1));
  captures_.fail(Step::kAppend, unavailable("later"));
  say(capture_begin('b', 2000));
  say(capture_part('b', 0, std::string(1000, 'x')));
  ASSERT_TRUE(wire_->wait_for_answers(2));
  EXPECT_EQ(last().state(), Wire::RETRY);
  send_all('c', std::string(1000, 'x'));
  ASSERT_TRUE(wire_->wait_for_answers(3));
  EXPECT_FALSE(wire_->ended());
}

TEST_F(SessionCapturesTest, WhoBeginsTooManyIsCutOff) {
  make();
  captures_.hold();
  for (uint32_t i = 0; i < ingest::kMostCapturesUnderWay; ++i) say(capture_begin(static_cast<char>('a' + i), 10));
  EXPECT_FALSE(wire_->ended());
  say(capture_begin('z', 10));
  EXPECT_EQ(wire_->ended(), StreamEnd::kTooMuch);
}

TEST_F(SessionCapturesTest, PartsOutOfOrderEndTheStream) {
  auto ends_at = [this](const wire::AgentMessage& message) {
    make();
    captures_.hold();
    say(capture_begin('a', 10));
    say(capture_part('a', 0, "12345"));
    EXPECT_FALSE(wire_->ended());
    say(message);
    captures_.release();
    return wire_->ended();
  };
  EXPECT_EQ(ends_at(capture_part('a', 4, "x")), StreamEnd::kInvalid);
  EXPECT_EQ(ends_at(capture_part('a', 6, "x")), StreamEnd::kInvalid);
  EXPECT_EQ(ends_at(capture_part('a', 5, "678901")), StreamEnd::kInvalid) << "more than it said";
  EXPECT_EQ(ends_at(capture_part('a', 5, "")), StreamEnd::kInvalid);
  EXPECT_EQ(ends_at(capture_begin('a', 10)), StreamEnd::kInvalid) << "begun twice";
  EXPECT_EQ(ends_at(capture_part('b', 99, "x")), std::nullopt) << "its answer may be on its way";
}

TEST_F(SessionCapturesTest, WithoutMemoryItIsToComeAgain) {
  make({.budget_bytes = 1500});
  captures_.hold();
  say(capture_begin('a', 3000));
  say(capture_part('a', 0, std::string(1000, 'x')));
  EXPECT_TRUE(wire_->progress().empty());
  say(capture_part('a', 1000, std::string(1000, 'x')));
  ASSERT_TRUE(wire_->wait_for_answers(1));
  EXPECT_EQ(last().state(), Wire::RETRY);
  say(capture_part('a', 2000, std::string(1000, 'x')));
  EXPECT_FALSE(wire_->ended());
  captures_.release();
  ASSERT_TRUE(wait_for_free_memory());
  send_all('a', std::string(500, 'x'));
  ASSERT_TRUE(wire_->wait_for_answers(2));
  EXPECT_EQ(last().state(), Wire::DURABLE);
}

// What AgentStream says when the memory of all requests is used up: the message is gone, its first bytes are here.
TEST_F(SessionCapturesTest, APartThatCouldNotBeReadIsToComeAgain) {
  make();
  captures_.hold();
  say(capture_begin('a', 3000));
  std::string bytes = capture_part('a', 0, std::string(3000, 'x')).SerializeAsString();
  session_->no_room(bytes.substr(0, 100), bytes.size());
  ASSERT_TRUE(wire_->wait_for_answers(1));
  EXPECT_EQ(last().state(), Wire::RETRY);
  session_->no_room(bytes.substr(0, 100), bytes.size());
  EXPECT_FALSE(wire_->ended()) << "the part behind it";
  wire::AgentMessage answer;
  answer.mutable_tracepoint_answer()->set_request_id(5);
  session_->no_room(answer.SerializeAsString(), 100'000);
  EXPECT_FALSE(wire_->ended());
  EXPECT_TRUE(answers_->said.back().starts_with("tracepoints n5the collector has no memory"));
  session_->no_room(bytes.substr(0, 100), 3 << 20);
  EXPECT_EQ(wire_->ended(), StreamEnd::kTooMuch) << "no part is as large";
}

TEST_F(SessionCapturesTest, AStreamThatEndsAbandonsWhatIsNotWhole) {
  make();
  uint64_t before = counted("abandoned");
  captures_.hold();
  say(capture_begin('a', 10));
  say(capture_part('a', 0, "12345"));
  send_all('b', "whole");
  session_->closed();
  captures_.release();
  intake_->stop();
  EXPECT_EQ(counted("abandoned"), before + 1);
  EXPECT_EQ(captures_.stats().writers, 0u);
  EXPECT_FALSE(captures_.info(id_of('a')).ok());
}

// What a thread that reads has in hand while another one ends the stream.
TEST_F(SessionCapturesTest, WhatIsBegunAfterTheEndIsAbandoned) {
  make();
  uint64_t before = counted("abandoned");
  size_t said = 0;
  auto late = std::make_shared<SessionCaptures>(
      intake_, 1000, SessionCaptures::Peer{[&said](const std::string&) { return ++said > 0; }, [] {}, [] {}});
  late->end_incomplete();
  store::CaptureInfo info;
  info.id = id_of('a');
  info.trigger = CaptureTrigger::kSlow;
  info.size_bytes = 10;
  SessionCaptures::Begun begun = late->begin(info);
  EXPECT_FALSE(begun.breach);
  EXPECT_FALSE(begun.is_under_way);
  EXPECT_TRUE(late->idle());
  EXPECT_FALSE(late->part({info.id, 0, "01234"}));
  EXPECT_EQ(said, 0u);
  EXPECT_EQ(counted("abandoned"), before + 1);
  intake_->stop();
  EXPECT_EQ(captures_.stats().writers, 0u);
}

TEST_F(SessionCapturesTest, AWholeCaptureIsStoredThoughItsStreamIsGone) {
  make();
  captures_.hold();
  send_all('b', "whole");
  session_->closed();
  captures_.release();
  open();
  wire::AgentMessage begin = capture_begin('b', 5);
  say(begin);
  say(capture_part('b', 0, "whole"));
  ASSERT_TRUE(wire_->wait_for_answers(1));
  EXPECT_EQ(last().state(), Wire::DURABLE);
  EXPECT_EQ(captures_.read(id_of('b'), 0, 10).value(), "whole");
}

TEST_F(SessionCapturesTest, ACollectorThatEndsLetsWholeOnesBeAnswered) {
  make();
  captures_.hold();
  say(capture_begin('a', 10));
  say(capture_part('a', 0, "12345"));
  send_all('b', "whole");
  session_->drain();
  ASSERT_TRUE(wire_->wait_for_answers(1));
  EXPECT_EQ(last().state(), Wire::RETRY);
  say(capture_begin('c', 10));
  EXPECT_EQ(last().state(), Wire::RETRY) << "to the collector that comes next";
  EXPECT_FALSE(wire_->ended());
  captures_.release();
  ASSERT_TRUE(wire_->wait_for_answers(3));
  EXPECT_EQ(last().state(), Wire::DURABLE);
  intake_->stop();
  EXPECT_EQ(wire_->ended(), StreamEnd::kStopping);
}

TEST_F(SessionCapturesTest, AnAgentThatSaysNothingMoreGetsItsAnswers) {
  make();
  captures_.hold();
  say(capture_begin('a', 10));
  send_all('b', "whole");
  session_->half_closed();
  EXPECT_FALSE(wire_->ended());
  captures_.release();
  ASSERT_TRUE(wire_->wait_for_answers(1));
  intake_->stop();
  EXPECT_EQ(wire_->ended(), StreamEnd::kFinished);
}

TEST_F(SessionCapturesTest, OthersHearOfNodesCapturesAndAnswers) {
  make();
  EXPECT_EQ(streams_->connected().size(), 1u);
  say(capture_begin('a', 10));
  wire::AgentMessage answer;
  answer.mutable_capture_answer()->set_request_id(5);
  say(answer);
  answer.mutable_tracepoint_answer()->set_request_id(6);
  say(answer);
  EXPECT_TRUE(streams_->send(id_of('n'), encode(ingest::Thresholds{true, {}})));
  EXPECT_TRUE(wire_->messages().back().has_thresholds());
  session_->closed();
  EXPECT_EQ(answers_->said,
            (std::vector<std::string>{"connected n", "begins nhost-n", "capture n5", "tracepoints n6", "gone n"}));
  EXPECT_TRUE(streams_->connected().empty());
  EXPECT_FALSE(streams_->send(id_of('n'), encode(ingest::Thresholds{true, {}})));
}

TEST_F(SessionCapturesTest, OthersHearOfNoCaptureThatIsRefused) {
  make({.most_bytes = 1000});
  captures_.hold();
  send_all('z', "whole");  // so that the stream does not end with the collector
  answers_->said.clear();
  for (int i = 0; i < 100; ++i) say(capture_begin('a', 0));
  say(capture_begin('b', 1001));
  session_->drain();
  say(capture_begin('c', 10));
  EXPECT_EQ(wire_->progress().size(), 102u);
  EXPECT_EQ(answers_->said, std::vector<std::string>());
}

TEST_F(SessionCapturesTest, AnOlderAgentIsNotAsked) {
  make();
  session_->closed();
  answers_->said.clear();
  session_ = std::make_shared<AgentSession>(context_, wire_);
  say(hello());
  EXPECT_TRUE(streams_->connected().empty());
  EXPECT_TRUE(answers_->said.empty());
}

TEST_F(SessionCapturesTest, OfTwoStreamsOfANodeTheNewerIsAsked) {
  make();
  auto older = std::exchange(session_, nullptr);
  open();
  older->closed();
  EXPECT_EQ(answers_->said, (std::vector<std::string>{"connected n", "gone n", "connected n"}));
  EXPECT_TRUE(streams_->send(id_of('n'), encode(ingest::Thresholds{true, {}})));
  EXPECT_TRUE(wire_->messages().back().has_thresholds());
}

// By seed: agents by the book, faults of the store, and streams that end: every capture that was answered DURABLE is
// there byte for byte, no stream is cut off, and nothing stays behind.
class SessionCapturesModel : public SessionCapturesTest, public ::testing::WithParamInterface<uint32_t> {
 protected:
  static constexpr uint64_t kWindow = 20'000;

  static std::string content_of(char id) {
    std::mt19937 random(static_cast<uint32_t>(id));
    return std::string(1 + random() % 3000, id);
  }
  // Some of six ids, until all six are durable; how many.
  size_t send_some() {
    size_t sent = 0;
    auto base = static_cast<char>(1 + durable_.size() / 6 * 6);
    for (char id = base; id < static_cast<char>(base + 6) && id < 120; ++id) {
      if (durable_.contains(id) || random_() % 3 == 0) continue;
      send_all(id, content_of(id), 1 + random_() % 1000);
      ++sent;
    }
    return sent;
  }
  size_t answers() {
    size_t count = 0;
    for (const auto& progress : wire_->progress()) count += progress.state() != Wire::TAKEN;
    return count;
  }
  void note_durable() {
    for (const auto& progress : wire_->progress()) {
      if (progress.state() == Wire::DURABLE) durable_.insert(progress.capture_id()[0]);
    }
  }

  std::mt19937 random_{GetParam()};
  std::set<char> durable_;
};

TEST_P(SessionCapturesModel, WhatIsDurableIsThere) {
  make({.budget_bytes = 40'000, .retry_delay_nano = 1}, kWindow);
  for (int round = 0; round < 60; ++round) {
    if (random_() % 5 == 0) captures_.fail(static_cast<Step>(random_() % 3), unavailable("later"));
    const size_t answered = answers();
    const size_t sent = send_some();
    if (random_() % 10 == 0) {
      session_->closed();
      note_durable();
      open();
    } else {
      ASSERT_FALSE(wire_->ended()) << wire_->why() << " seed " << GetParam();
      ASSERT_TRUE(wire_->wait_for_answers(answered + sent));
      note_durable();
    }
  }
  session_->closed();
  intake_->stop();
  EXPECT_EQ(captures_.stats().writers, 0u);
  EXPECT_GT(durable_.size(), 6u);
  for (char id : durable_) EXPECT_EQ(captures_.read(id_of(id), 0, 10'000).value(), content_of(id));
}

INSTANTIATE_TEST_SUITE_P(Seeds, SessionCapturesModel, ::testing::Range(0u, 10u));

}  // namespace
}  // namespace fathom::collector
