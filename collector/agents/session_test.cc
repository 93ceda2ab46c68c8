#include "collector/agents/session.h"

#include <gtest/gtest.h>

#include <vector>

#include "collector/testing/agent_peer.h"
#include "collector/testing/fake_store.h"
#include "collector/testing/requests.h"

namespace fathom::collector {
namespace {

using namespace testing;

std::string otlp(size_t spans) {
  return simple_request(spans).SerializeAsString();
}

class AgentSessionTest : public ::testing::Test {
 protected:
  void make(const SessionLimits& limits = {}, const IngestOptions& ingest = {}) {
    auto context = std::make_shared<SessionContext>();
    context->ingest = std::make_shared<Ingest>(ingest, store_);
    context->nodes = nodes_;
    context->limits = limits;
    context->now_unix_nano = [] { return uint64_t{5000}; };
    context_ = context;
    open(session_, wire_);
  }
  void open(std::shared_ptr<AgentSession>& session, std::shared_ptr<RecordingWire>& wire) {
    wire = std::make_shared<RecordingWire>();
    session = std::make_shared<AgentSession>(context_, wire);
  }
  void say(const wire::AgentMessage& message) { say_bytes(message.SerializeAsString()); }
  void say_bytes(const std::string& bytes) { session_->message(bytes, context_->ingest->open(), 4000); }
  static uint64_t ended(const char* reason) {
    return counted("fathom_ingest_streams_ended_total", std::string("reason=\"") + reason + "\"");
  }
  // Says it, and expects the stream to be cut off for it.
  void expect_cut_off(const wire::AgentMessage& message, StreamEnd end = StreamEnd::kInvalid) {
    uint64_t before = ended(std::string(stream_end_label(end)).c_str());
    say(message);
    EXPECT_EQ(wire_->ended(), end) << message.DebugString();
    EXPECT_NE(wire_->why(), "");
    EXPECT_EQ(ended(std::string(stream_end_label(end)).c_str()), before + 1);
  }

  FakeStore store_;
  std::shared_ptr<NodeRegistry> nodes_ = std::make_shared<NodeRegistry>();
  std::shared_ptr<const SessionContext> context_;
  std::shared_ptr<RecordingWire> wire_;
  std::shared_ptr<AgentSession> session_;
};

TEST_F(AgentSessionTest, WelcomesAndAcknowledgesWhatIsDurable) {
  make({.collector_version = "9.9"});
  say(hello());
  ASSERT_EQ(wire_->messages().size(), 1u);
  EXPECT_EQ(wire_->messages()[0].welcome().collector_version(), "9.9");
  EXPECT_EQ(wire_->messages()[0].welcome().max_batch_bytes(), SessionLimits().max_batch_bytes);
  EXPECT_EQ(wire_->messages()[0].welcome().max_unacknowledged_batches(), SessionLimits().max_unacknowledged_batches);
  store_.hold();
  say(batch(1, otlp(3)));
  EXPECT_TRUE(wire_->acks().empty()) << "not durable yet";
  store_.release();
  ASSERT_EQ(wire_->acks().size(), 1u);
  EXPECT_EQ(wire_->acks()[0].sequence(), 1u);
  EXPECT_EQ(wire_->acks()[0].outcome(), wire::Ack::DURABLE);
  EXPECT_EQ(store_.spans(), 3u);
  EXPECT_FALSE(wire_->ended());
}

TEST_F(AgentSessionTest, IdentityAndClockReachTheStore) {
  make();
  say(hello());
  wire::AgentMessage first = batch(1, otlp(1), 'x');
  first.mutable_batch()->mutable_clock()->set_offset_nano(-7);
  first.mutable_batch()->mutable_clock()->set_error_nano(3);
  say(first);
  say(batch(2, otlp(2), 'x'));
  say(batch(3, otlp(2), 'y'));
  auto batches = store_.batches();
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[0]->clock(), (ClockOffset{-7, 3}));
  EXPECT_FALSE(batches[1]->clock());
  EXPECT_EQ(batches[0]->identity(), batches[1]->identity()) << "the agent's name counts, not the content";
  EXPECT_NE(batches[1]->identity(), batches[2]->identity());
}

TEST_F(AgentSessionTest, AnswersOfTheStoreBecomeOutcomes) {
  make({}, {.retry_delay_nano = 77});
  say(hello());
  store_.script({{store::AppendOutcome::kRetryable, "full", false}, {store::AppendOutcome::kRejected, "no", false}});
  say(batch(1, otlp(1)));
  say(batch(2, otlp(4)));
  say(batch(3, "\x0a\x05hi"));
  Request half = simple_request(2);
  first_span(half).set_trace_id("short");
  say(batch(4, half.SerializeAsString()));
  auto acks = wire_->acks();
  ASSERT_EQ(acks.size(), 4u);
  EXPECT_EQ(acks[0].outcome(), wire::Ack::RETRY);
  EXPECT_EQ(acks[0].retry_after_nano(), 77u);
  EXPECT_EQ(acks[1].outcome(), wire::Ack::DURABLE);
  EXPECT_EQ(acks[1].rejected_spans(), 4u);
  EXPECT_EQ(acks[2].outcome(), wire::Ack::REFUSED);
  EXPECT_NE(acks[2].message(), "");
  EXPECT_EQ(acks[3].rejected_spans(), 1u);
}

TEST_F(AgentSessionTest, AnswersProbesWithItsClock) {
  make();
  say(hello());
  say(probe(1234));
  ASSERT_EQ(wire_->messages().size(), 2u);
  EXPECT_EQ(wire_->messages()[1].reply().probe_sent_unix_nano(), 1234u);
  EXPECT_EQ(wire_->messages()[1].reply().received_unix_nano(), 4000u);
  EXPECT_EQ(wire_->messages()[1].reply().sent_unix_nano(), 5000u);
}

TEST_F(AgentSessionTest, ShowsTheNode) {
  make();
  wire::AgentMessage greeting = hello();
  greeting.mutable_hello()->set_host_name(std::string("b\xff") + std::string(1000, 'x'));
  say_bytes(greeting.SerializeAsString());
  wire::AgentMessage message;
  auto& status = *message.mutable_status();
  status.set_programs(3);
  status.mutable_clock()->set_offset_nano(-5);
  status.mutable_clock()->set_error_nano(6);
  status.set_clock_measured_unix_nano(7);
  status.set_spool_bytes(8);
  status.set_spool_limit_bytes(9);
  status.set_acknowledged_spans(10);
  status.set_resident_bytes(11);
  for (int i = 0; i < 1000; ++i) {
    status.add_losses()->set_reason("r" + std::to_string(i));
    status.mutable_losses(i)->set_count(static_cast<uint64_t>(i));
  }
  say(message);
  std::vector<Node> nodes = nodes_->nodes();
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_TRUE(nodes[0].connected);
  EXPECT_LE(nodes[0].host_name.size(), 256u);
  EXPECT_TRUE(nodes[0].host_name.starts_with("b\xef\xbf\xbdx"));
  EXPECT_EQ(nodes[0].report.programs, 3u);
  EXPECT_EQ(nodes[0].report.clock, (ClockOffset{-5, 6}));
  EXPECT_EQ(nodes[0].report.clock_measured_unix_nano, 7u);
  EXPECT_EQ(nodes[0].report.spool_bytes, 8u);
  EXPECT_EQ(nodes[0].report.spool_limit_bytes, 9u);
  EXPECT_EQ(nodes[0].report.acknowledged_spans, 10u);
  EXPECT_EQ(nodes[0].report.resident_bytes, 11u);
  EXPECT_EQ(nodes[0].report.losses.size(), 64u);
  EXPECT_EQ(nodes[0].report.losses[2], (std::pair<std::string, uint64_t>("r2", 2)));
  session_->closed();
  EXPECT_FALSE(nodes_->nodes()[0].connected);
}

TEST_F(AgentSessionTest, HelloComesFirstAndOnce) {
  make();
  expect_cut_off(batch(1, otlp(1)));
  make();
  expect_cut_off(probe(1));
  make();
  say(hello());
  expect_cut_off(hello());
  EXPECT_EQ(store_.spans(), 0u);
}

TEST_F(AgentSessionTest, HellosMustNameTheNode) {
  for (int fault = 0; fault < 4; ++fault) {
    make();
    wire::AgentMessage message = hello();
    if (fault == 0) message.mutable_hello()->set_node_id("short");
    if (fault == 1) message.mutable_hello()->set_instance_id(std::string(17, 'x'));
    if (fault == 2) message.mutable_hello()->set_node_id(std::string(16, '\0'));
    if (fault == 3) message.mutable_hello()->set_protocol_version(0);
    expect_cut_off(message);
  }
}

TEST_F(AgentSessionTest, BatchesAreNumberedAndNamed) {
  for (uint64_t wrong : {0, 1, 3}) {
    make();
    say(hello());
    say(batch(1, otlp(1)));
    expect_cut_off(batch(wrong, otlp(1)));
  }
  make();
  say(hello());
  wire::AgentMessage message = batch(1, otlp(1));
  message.mutable_batch()->set_identity("seventeen bytes..");
  expect_cut_off(message);
  make();
  say(hello());
  say_bytes("\x12\xff");
  EXPECT_EQ(wire_->ended(), StreamEnd::kInvalid);
}

TEST_F(AgentSessionTest, MoreUnderWayThanWelcomeAllowsIsCutOff) {
  store_.hold();
  make({.max_unacknowledged_bytes = 2 * otlp(2).size()});
  say(hello());
  say(batch(1, otlp(2)));
  say(batch(2, otlp(2)));
  expect_cut_off(batch(3, "x"), StreamEnd::kTooMuch);
  make({.max_unacknowledged_batches = 2});
  say(hello());
  say(batch(1, otlp(1)));
  say(batch(2, otlp(1)));
  expect_cut_off(batch(3, ""), StreamEnd::kTooMuch);
  store_.release();
}

TEST_F(AgentSessionTest, TooLargeABatchIsRefusedForGood) {
  make({.max_batch_bytes = 100, .max_unacknowledged_bytes = 100});
  say(hello());
  say(batch(1, std::string(101, 'x')));
  ASSERT_EQ(wire_->acks().size(), 1u);
  EXPECT_EQ(wire_->acks()[0].outcome(), wire::Ack::REFUSED);
  EXPECT_FALSE(wire_->ended());
}

TEST_F(AgentSessionTest, WithoutMemoryTheAnswerIsLater) {
  make({}, {.budget_bytes = 1000, .retry_delay_nano = 5});
  say(hello());
  session_->no_room(batch(1, std::string(5000, 'x')).SerializeAsString().substr(0, 40), 5050);
  store_.hold();
  say(batch(2, otlp(1)));  // decoding alone takes more
  store_.release();
  auto acks = wire_->acks();
  ASSERT_EQ(acks.size(), 2u);
  EXPECT_EQ(acks[0].sequence(), 1u);
  EXPECT_EQ(acks[0].outcome(), wire::Ack::RETRY);
  EXPECT_EQ(acks[0].retry_after_nano(), 5u);
  session_->no_room("no batch's begin", 5050);
  EXPECT_EQ(wire_->ended(), StreamEnd::kTooMuch);
}

TEST_F(AgentSessionTest, WithoutMemoryTooLargeABatchIsStillRefusedForGood) {
  make({.max_batch_bytes = 10'000});
  say(hello());
  for (auto [sequence, bytes] : {std::pair(1u, 10'000u), std::pair(2u, 20'000u)}) {
    session_->no_room(batch(sequence, std::string(bytes, 'x')).SerializeAsString().substr(0, 40), bytes + 40);
  }
  auto acks = wire_->acks();
  ASSERT_EQ(acks.size(), 2u);
  EXPECT_EQ(acks[0].outcome(), wire::Ack::RETRY);
  EXPECT_EQ(acks[1].outcome(), wire::Ack::REFUSED);
}

TEST_F(AgentSessionTest, TheNewerStreamOfANodeWins) {
  make();
  say(hello('n', '1'));
  auto old_wire = wire_;
  auto old_session = session_;
  open(session_, wire_);
  say(hello('n', '2'));
  EXPECT_EQ(old_wire->ended(), StreamEnd::kReplaced);
  EXPECT_FALSE(wire_->ended());
  old_session->closed();
  ASSERT_EQ(nodes_->nodes().size(), 1u);
  EXPECT_TRUE(nodes_->nodes()[0].connected) << "the end of the older one changes nothing";
  open(session_, wire_);
  say(hello('m'));
  EXPECT_EQ(nodes_->nodes().size(), 2u);
}

TEST_F(AgentSessionTest, NobodyTakesANodesPlaceWithoutItsKey) {
  make();
  auto context = std::make_shared<SessionContext>(*context_);
  context->keys = *NodeKeys::open("");
  context_ = context;
  std::vector<std::shared_ptr<AgentSession>> sessions;  // whose end would be that of their streams
  const auto come = [&](const std::string& key) {
    open(session_, wire_);
    sessions.push_back(session_);
    wire::AgentMessage message = hello('n', '1');
    message.mutable_hello()->set_node_key(key);
    say(message);
    return wire_;
  };
  const auto real = come(std::string(32, 'k'));
  EXPECT_FALSE(real->ended());
  const uint64_t before = ended("wrong_key");
  for (const std::string& key : {std::string(32, 'x'), std::string()}) {
    const auto impostor = come(key);
    EXPECT_EQ(impostor->ended(), StreamEnd::kWrongKey);
    EXPECT_TRUE(impostor->messages().empty()) << "it gets no Welcome";
    EXPECT_NE(impostor->why().find("another agent has this id"), std::string::npos);
  }
  EXPECT_EQ(ended("wrong_key"), before + 2);
  EXPECT_FALSE(real->ended()) << "the real agent stays";
  EXPECT_FALSE(come(std::string(32, 'k'))->ended());
  EXPECT_EQ(real->ended(), StreamEnd::kReplaced) << "it came anew";
}

TEST_F(AgentSessionTest, AnswersThatNobodyReadsEndTheStream) {
  make();
  say(hello());
  wire_->read_no_more_than(100);
  for (uint64_t i = 0; i < 200 && !wire_->ended(); ++i) say(probe(i));
  EXPECT_EQ(wire_->ended(), StreamEnd::kTooMuch);
}

TEST_F(AgentSessionTest, AnOrderlyEndWaitsForAnswers) {
  make();
  say(hello());
  store_.hold();
  say(batch(1, otlp(1)));
  session_->half_closed();
  EXPECT_FALSE(wire_->ended());
  store_.release();
  EXPECT_EQ(wire_->acks().size(), 1u);
  EXPECT_EQ(wire_->ended(), StreamEnd::kFinished);
}

TEST_F(AgentSessionTest, ACollectorThatEndsTakesNothingMore) {
  make();
  say(hello());
  store_.hold();
  say(batch(1, otlp(1)));
  session_->drain();
  say(batch(2, otlp(1)));
  EXPECT_FALSE(wire_->ended());
  store_.release();
  auto acks = wire_->acks();
  ASSERT_EQ(acks.size(), 2u);
  EXPECT_EQ(acks[0].outcome(), wire::Ack::RETRY);
  EXPECT_EQ(acks[1].outcome(), wire::Ack::DURABLE);
  EXPECT_EQ(wire_->ended(), StreamEnd::kStopping);
}

TEST_F(AgentSessionTest, SilenceInsteadOfHelloIsCutOff) {
  make();
  session_->hello_is_due();
  EXPECT_EQ(wire_->ended(), StreamEnd::kSilent);
  make();
  say(hello());
  session_->hello_is_due();
  EXPECT_FALSE(wire_->ended());
}

TEST_F(AgentSessionTest, SilenceAfterHelloIsCutOffUnlessItIsTheEnd) {
  make();
  say(hello());
  uint64_t before = ended("silent");
  session_->silent();
  EXPECT_EQ(wire_->ended(), StreamEnd::kSilent);
  EXPECT_EQ(ended("silent"), before + 1);
  make();
  say(hello());
  store_.hold();
  say(batch(1, otlp(1)));
  session_->half_closed();
  session_->silent();
  EXPECT_FALSE(wire_->ended()) << "it waits for the answer";
  store_.release();
  EXPECT_EQ(wire_->ended(), StreamEnd::kFinished);
}

TEST_F(AgentSessionTest, MessagesOfTheFutureAreIgnoredAndCounted) {
  make();
  uint64_t before = counted("fathom_ingest_unknown_messages_total");
  say(hello());
  say_bytes(std::string("\x7a\x01x", 3));
  say_bytes("");
  EXPECT_FALSE(wire_->ended());
  EXPECT_EQ(counted("fathom_ingest_unknown_messages_total"), before + 2);
}

TEST_F(AgentSessionTest, AcknowledgementsMayComeAfterTheStreamIsGone) {
  make();
  say(hello());
  store_.hold();
  say(batch(1, otlp(1)));
  session_->closed();
  wire_.reset();
  session_.reset();
  store_.release();
  EXPECT_EQ(store_.spans(), 1u);
}

}  // namespace
}  // namespace fathom::collector
