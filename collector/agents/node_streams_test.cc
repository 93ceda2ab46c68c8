#include "collector/agents/node_streams.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "collector/agents/session.h"
#include "collector/testing/agent_peer.h"
#include "collector/testing/fake_store.h"
#include "ingest/collector_messages.h"

namespace fathom::collector {
namespace {

using namespace testing;

class Comings : public NodeAnswers {
 public:
  void node_connected(const NodeId&) override { said += "+"; }
  void node_gone(const NodeId&) override { said += "-"; }
  void answered(const NodeId&, CaptureAnswer) override {}
  void answered(const NodeId&, TracepointAnswer) override {}
  void slow_trace(const NodeId&, ingest::SlowTrace) override {}
  void capture_begins(const NodeId&, const store::CaptureInfo&) override {}
  std::string said;
};

class NodeStreamsTest : public ::testing::Test {
 protected:
  NodeStreamsTest() { node_.bytes.fill('n'); }
  std::shared_ptr<RecordingWire> attach(uint64_t stream) {
    wires_.push_back(std::make_shared<RecordingWire>());
    streams_.attach({node_, "host", stream}, wires_.back(), &comings_);
    return wires_.back();
  }
  bool reaches(RecordingWire& wire) {
    size_t before = wire.messages().size();
    return streams_.send(node_, encode(ingest::Thresholds{true, {}})) && wire.messages().size() == before + 1;
  }

  NodeId node_;
  NodeStreams streams_;
  Comings comings_;
  std::vector<std::shared_ptr<RecordingWire>> wires_;
};

TEST_F(NodeStreamsTest, ANewerStreamTakesTheOldersPlace) {
  attach(1);
  auto newer = attach(2);
  EXPECT_EQ(comings_.said, "+-+");
  streams_.detach(1, &comings_);
  EXPECT_EQ(comings_.said, "+-+");
  ASSERT_EQ(streams_.connected().size(), 1u);
  EXPECT_EQ(streams_.connected()[0].stream, 2u);
  EXPECT_TRUE(reaches(*newer));
  streams_.detach(2, &comings_);
  EXPECT_EQ(comings_.said, "+-+-");
  EXPECT_TRUE(streams_.connected().empty());
}

TEST_F(NodeStreamsTest, AnOlderStreamThatComesLaterTakesNoPlace) {
  auto newer = attach(2);
  attach(1);
  EXPECT_EQ(comings_.said, "+");
  EXPECT_TRUE(reaches(*newer));
  streams_.detach(1, &comings_);
  EXPECT_EQ(comings_.said, "+");
  EXPECT_TRUE(reaches(*newer));
  EXPECT_EQ(streams_.connected().at(0).stream, 2u);
}

TEST_F(NodeStreamsTest, AnOlderStreamMayComeWhenTheNewerHasGone) {
  attach(2);
  streams_.detach(2, &comings_);
  auto older = attach(1);
  EXPECT_TRUE(reaches(*older));
  streams_.detach(1, &comings_);
  EXPECT_EQ(comings_.said, "+-+-");
}

// A wire on which something happens when it is first sent to: between the Welcome and what follows it.
class InterruptedWire : public RecordingWire {
 public:
  explicit InterruptedWire(std::function<void()> event) : event_(std::move(event)) {}
  bool send(std::string message) override {
    if (event_) std::exchange(event_, nullptr)();
    return RecordingWire::send(std::move(message));
  }

 private:
  std::function<void()> event_;
};

std::shared_ptr<SessionContext> context_of(FakeStore& store, std::shared_ptr<NodeAnswers> answers) {
  auto context = std::make_shared<SessionContext>();
  context->ingest = std::make_shared<Ingest>(IngestOptions{}, store);
  context->nodes = std::make_shared<NodeRegistry>();
  context->streams = std::make_shared<NodeStreams>();
  context->answers = std::move(answers);
  return context;
}

TEST(NodeStreamsOfSessions, AgentsSayTheirPeriod) {
  for (uint64_t period_nano : {uint64_t{0}, kNanosPerMinute}) {
    FakeStore store;
    auto context = context_of(store, nullptr);
    auto peer = std::make_shared<RecordingWire>();
    auto session = std::make_shared<AgentSession>(context, peer);
    wire::AgentMessage greeting = hello();
    greeting.mutable_hello()->set_takes_requests(true);
    greeting.mutable_hello()->set_slowest_period_nano(period_nano);
    session->message(greeting.SerializeAsString(), context->ingest->open(), 4000);
    ASSERT_EQ(context->streams->connected().size(), 1u);
    EXPECT_EQ(context->streams->connected()[0].period_nano, period_nano);
  }
}

TEST(NodeStreamsOfSessions, OfTwoHellosAtOnceTheNewerStreamIsAsked) {
  FakeStore store;
  auto comings = std::make_shared<Comings>();
  auto context = context_of(store, comings);
  wire::AgentMessage greeting = hello();
  greeting.mutable_hello()->set_takes_requests(true);
  auto greet = [&](AgentSession& session) {
    session.message(greeting.SerializeAsString(), context->ingest->open(), 4000);
  };
  auto newer_wire = std::make_shared<RecordingWire>();
  auto newer = std::make_shared<AgentSession>(context, newer_wire);
  auto older_wire = std::make_shared<InterruptedWire>([&] { greet(*newer); });
  auto older = std::make_shared<AgentSession>(context, older_wire);
  greet(*older);
  EXPECT_EQ(older_wire->ended(), StreamEnd::kReplaced);
  EXPECT_FALSE(newer_wire->ended());
  EXPECT_EQ(comings->said, "+");
  ASSERT_EQ(context->streams->connected().size(), 1u);
  EXPECT_TRUE(context->streams->send(context->streams->connected()[0].node_id, encode(ingest::Thresholds{true, {}})));
  EXPECT_TRUE(newer_wire->messages().back().has_thresholds());
}

}  // namespace
}  // namespace fathom::collector
