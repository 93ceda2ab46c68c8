// Tests how a stream handles agents' reports of skipped captures.
#include <gtest/gtest.h>

#include "base/metrics.h"
#include "collector/agents/session.h"
#include "collector/testing/agent_peer.h"
#include "collector/testing/fake_captures.h"
#include "collector/testing/fake_store.h"

namespace fathom::collector {
namespace {

using namespace testing;

class SessionSkippedTest : public ::testing::Test {
 protected:
  void open(const CaptureIntakeOptions& options = {}) {
    intake_ = std::make_shared<CaptureIntake>(options, captures_);
    auto context = std::make_shared<SessionContext>();
    context->ingest = std::make_shared<Ingest>(IngestOptions{}, spans_);
    context->nodes = std::make_shared<NodeRegistry>();
    context->captures = intake_;
    context_ = context;
    session_ = std::make_shared<AgentSession>(context_, wire_);
    say(hello());
  }
  static uint64_t lost(std::string_view reason) { return lost_skipped_captures(reason).value(); }
  ~SessionSkippedTest() override {
    captures_.release();
    session_.reset();
    intake_->stop();
  }
  void say(const wire::AgentMessage& message) {
    session_->message(message.SerializeAsString(), context_->ingest->open(), 4000);
  }

  FakeCaptures captures_;
  FakeStore spans_;
  std::shared_ptr<CaptureIntake> intake_;
  std::shared_ptr<const SessionContext> context_;
  std::shared_ptr<RecordingWire> wire_ = std::make_shared<RecordingWire>();
  std::shared_ptr<AgentSession> session_;
};

TEST_F(SessionSkippedTest, AreStoredAndNotAnswered) {
  open();
  say(skipped_captures('t', 2));
  intake_->stop();
  TraceId trace;
  trace.bytes.fill('t');
  store::QueryBudget budget;
  const std::vector<store::SkippedCapture> stored = captures_.skipped_of_trace(trace, budget).value();
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[0].node_id.view(), std::string(16, 'n'));
  EXPECT_EQ(stored[0].node_name, "host-n");
  EXPECT_EQ(stored[0].reason, SkipReason::kMemory);
  EXPECT_EQ(wire_->messages().size(), 1u) << "the Welcome";
  EXPECT_FALSE(wire_->ended());
}

TEST_F(SessionSkippedTest, BeyondTheirRoomTheyAreCounted) {
  open({.skipped_burst = 1e6});
  const uint64_t before = lost("queue");
  captures_.hold();
  // More reports than the queue holds and both threads can have in hand.
  constexpr size_t kSent = 4 * CaptureIntake::kMostSkipped;
  for (size_t sent = 0; sent < kSent; sent += 16) say(skipped_captures('t', 16));
  EXPECT_GE(lost("queue"), before + CaptureIntake::kMostSkipped);
  captures_.release();
  intake_->stop();
  EXPECT_EQ(captures_.stats().skipped + lost("queue") - before, kSent);
}

TEST_F(SessionSkippedTest, AStreamHasARate) {
  open({.skipped_per_s = 1, .skipped_burst = 100});
  const uint64_t before = lost("rate"), began_nano = now_monotonic_nano();
  constexpr size_t kSent = 320;
  for (size_t sent = 0; sent < kSent; sent += 16) say(skipped_captures('t', 16));
  const uint64_t filled = (now_monotonic_nano() - began_nano) / kNanosPerSecond + 1;
  // Each stream has its own rate.
  auto other = std::make_shared<AgentSession>(context_, wire_);
  for (const wire::AgentMessage& message : {hello('m'), skipped_captures('u', 16)}) {
    other->message(message.SerializeAsString(), context_->ingest->open(), 4000);
  }
  intake_->stop();
  const uint64_t stored = captures_.stats().skipped - 16;
  EXPECT_GE(stored, 100u);
  EXPECT_LE(stored, 100 + filled);
  EXPECT_EQ(stored + lost("rate") - before, kSent);
}

}  // namespace
}  // namespace fathom::collector
