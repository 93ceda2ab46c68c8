// Tests how a stream handles captures that share a content.
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "collector/agents/session.h"
#include "collector/testing/agent_peer.h"
#include "collector/testing/fake_captures.h"
#include "collector/testing/fake_store.h"

namespace fathom::collector {
namespace {

using namespace testing;

class SessionSharingTest : public ::testing::Test {
 protected:
  SessionSharingTest() {
    auto context = std::make_shared<SessionContext>();
    context->ingest = std::make_shared<Ingest>(IngestOptions{}, spans_);
    context->nodes = std::make_shared<NodeRegistry>();
    context->captures = intake_;
    context_ = context;
    session_ = std::make_shared<AgentSession>(context_, wire_);
    say(hello());
  }
  ~SessionSharingTest() override {
    session_.reset();
    intake_->stop();
  }
  void say(const wire::AgentMessage& message) {
    session_->message(message.SerializeAsString(), context_->ingest->open(), 4000);
  }
  void send_all(char id, const std::string& content) {
    say(capture_begin(id, content.size()));
    say(capture_part(id, 0, content));
  }
  // Begins a capture without parts.
  void refer(char id, const std::string& content) {
    wire::AgentMessage begin = capture_begin(id, content.size());
    begin.mutable_capture_begin()->set_sha256(std::string(sha256(content).view()));
    begin.mutable_capture_begin()->set_content_is_stored(true);
    say(begin);
  }
  auto last_state() { return wire_->progress().back().state(); }

  FakeCaptures captures_;
  FakeStore spans_;
  std::shared_ptr<CaptureIntake> intake_ = std::make_shared<CaptureIntake>(CaptureIntakeOptions{}, captures_);
  std::shared_ptr<const SessionContext> context_;
  std::shared_ptr<RecordingWire> wire_ = std::make_shared<RecordingWire>();
  std::shared_ptr<AgentSession> session_;
};

TEST_F(SessionSharingTest, AStoredContentMayBeReferredTo) {
  EXPECT_TRUE(wire_->messages().at(0).welcome().shares_capture_contents());
  const std::string content(500, 'x');
  send_all('a', content);
  ASSERT_TRUE(wire_->wait_for_answers(1));
  refer('b', content);
  ASSERT_TRUE(wire_->wait_for_answers(2)) << "without its parts";
  EXPECT_EQ(last_state(), wire::CaptureProgress::DURABLE);
  store::CaptureId id;
  id.bytes.fill('b');
  EXPECT_EQ(captures_.read(id, 0, 10'000).value(), content);
}

TEST_F(SessionSharingTest, WhatIsNotStoredIsToComeWithItsParts) {
  refer('a', "content");
  ASSERT_TRUE(wire_->wait_for_answers(1)) << "or the agent would wait for ever";
  EXPECT_EQ(last_state(), wire::CaptureProgress::RETRY);
  send_all('a', "content");
  ASSERT_TRUE(wire_->wait_for_answers(2));
  EXPECT_EQ(last_state(), wire::CaptureProgress::DURABLE);
  EXPECT_EQ(captures_.stats().writers, 0u);
}

}  // namespace
}  // namespace fathom::collector
