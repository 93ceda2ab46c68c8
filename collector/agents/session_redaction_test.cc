// Tests that agents get the server's redaction rules, and that the session rejects captures without their fingerprint.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "collector/agents/agent_redaction.h"
#include "collector/agents/session.h"
#include "collector/testing/agent_peer.h"
#include "collector/testing/fake_captures.h"
#include "collector/testing/fake_store.h"

namespace fathom::collector {
namespace {

using namespace testing;

class SessionRedactionTest : public ::testing::Test {
 protected:
  SessionRedactionTest() {
    auto context = std::make_shared<SessionContext>();
    context->ingest = std::make_shared<Ingest>(IngestOptions{}, spans_);
    context->nodes = std::make_shared<NodeRegistry>();
    context->captures = intake_;
    context->redaction = redaction_;
    context_ = context;
  }
  ~SessionRedactionTest() override {
    captures_.release();
    session_.reset();
    intake_->stop();
  }
  // `takes_rules`: false for an older agent.
  void open(bool takes_rules = true, char node = 'n') {
    wire_ = std::make_shared<RecordingWire>();
    session_ = std::make_shared<AgentSession>(context_, wire_);
    wire::AgentMessage greeting = hello(node);
    greeting.mutable_hello()->set_takes_redaction_rules(takes_rules);
    say(greeting);
  }
  void say(const wire::AgentMessage& message) {
    session_->message(message.SerializeAsString(), context_->ingest->open(), 4000);
  }
  void send(char id, const std::string& fingerprint) {
    wire::AgentMessage begin = capture_begin(id, 4);
    begin.mutable_capture_begin()->set_redaction_fingerprint(fingerprint);
    say(begin);
    say(capture_part(id, 0, "1234"));
  }
  std::vector<wire::RedactionRules> rules() const {
    std::vector<wire::RedactionRules> rules;
    for (const wire::CollectorMessage& message : wire_->messages()) {
      if (message.has_redaction_rules()) rules.push_back(message.redaction_rules());
    }
    return rules;
  }
  wire::CaptureProgress answer(size_t number) {
    EXPECT_TRUE(wire_->wait_for_answers(number + 1));
    return wire_->progress().back();
  }
  static uint64_t rejected() {
    return counter("fathom_rejected_captures_total", "", label("reason", "unredacted")).value();
  }

  FakeCaptures captures_;
  FakeStore spans_;
  std::shared_ptr<CaptureIntake> intake_ = std::make_shared<CaptureIntake>(CaptureIntakeOptions{}, captures_);
  std::shared_ptr<AgentRedaction> redaction_ = std::make_shared<AgentRedaction>();
  std::shared_ptr<const SessionContext> context_;
  std::shared_ptr<RecordingWire> wire_;
  std::shared_ptr<AgentSession> session_;
  const uint64_t before_ = rejected();
};

TEST_F(SessionRedactionTest, AnAgentGetsTheRulesAfterItsWelcomeAndWhenTheyChange) {
  redaction_->set({"print-1", {"drop key a", "hash key b"}, "secret"});
  open();
  ASSERT_EQ(wire_->messages().size(), 2u);
  EXPECT_TRUE(wire_->messages()[0].has_welcome());
  ASSERT_EQ(rules().size(), 1u);
  EXPECT_EQ(rules()[0].fingerprint(), "print-1");
  ASSERT_EQ(rules()[0].rules_size(), 2);
  EXPECT_EQ(rules()[0].rules(1), "hash key b");
  EXPECT_EQ(rules()[0].key(), "secret");
  redaction_->set({"print-1", {"drop key a", "hash key b"}, "secret"});
  EXPECT_EQ(rules().size(), 1u) << "nothing has changed";
  redaction_->set({"print-2", {"drop key c"}, "secret"});
  redaction_->set({});
  ASSERT_EQ(rules().size(), 3u);
  EXPECT_EQ(rules()[1].rules(0), "drop key c");
  EXPECT_EQ(rules()[2].rules_size(), 0);
}

TEST_F(SessionRedactionTest, AnAgentIsToldThatThereAreNoRules) {
  open();
  ASSERT_EQ(rules().size(), 1u) << "it may have those of an earlier server";
  EXPECT_EQ(rules()[0].rules_size(), 0);
}

TEST_F(SessionRedactionTest, AnOlderAgentDoesNotGetTheKey) {
  redaction_->set({"print-1", {"drop key a"}, "secret"});
  open(false);
  redaction_->set({"print-2", {"drop key b"}, "secret"});
  EXPECT_TRUE(rules().empty());
}

TEST_F(SessionRedactionTest, AStreamThatHasEndedGetsNothingMore) {
  open();
  session_->closed();
  redaction_->set({"print-1", {"drop key a"}, "secret"});
  EXPECT_EQ(rules().size(), 1u);
}

// Otherwise it would keep older rules, and the server reject all its captures.
TEST_F(SessionRedactionTest, AStreamThatDoesNotReadNewRulesEnds) {
  open();
  EXPECT_FALSE(wire_->ended());
  wire_->read_no_more_than(1);
  redaction_->set({"print-1", {"drop key a"}, "secret"});
  EXPECT_EQ(wire_->ended(), StreamEnd::kTooMuch);
}

TEST_F(SessionRedactionTest, WithoutRulesEveryCaptureIsAccepted) {
  open();
  send('a', "");
  EXPECT_EQ(answer(0).state(), wire::CaptureProgress::DURABLE);
  send('b', "print-of-before");
  EXPECT_EQ(answer(1).state(), wire::CaptureProgress::DURABLE);
  EXPECT_EQ(rejected(), before_);
}

TEST_F(SessionRedactionTest, WithRulesOnlyTheirCapturesAreAccepted) {
  redaction_->set({"print-1", {"drop key a"}, "secret"});
  open();
  send('a', "");
  EXPECT_EQ(answer(0).state(), wire::CaptureProgress::REFUSED);
  EXPECT_NE(answer(0).message().find("upgraded"), std::string::npos) << answer(0).message();
  send('b', "print-of-before");
  EXPECT_EQ(answer(1).state(), wire::CaptureProgress::REFUSED);
  send('c', "print-1");
  EXPECT_EQ(answer(2).state(), wire::CaptureProgress::DURABLE);
  EXPECT_EQ(rejected(), before_ + 2);
  redaction_->set({"print-2", {"drop key b"}, "secret"});
  send('d', "print-1");
  EXPECT_EQ(answer(3).state(), wire::CaptureProgress::REFUSED);
  send('e', "print-2");
  EXPECT_EQ(answer(4).state(), wire::CaptureProgress::DURABLE);
  EXPECT_FALSE(wire_->ended());
}

// An older agent does not redact the names that it sends beside spans and captures.
TEST_F(SessionRedactionTest, NamesOfSkippedCapturesAreRedacted) {
  const std::vector<std::string> rules = {"mask value 4[0-9]{3}", "drop key service.name"};
  redaction_->set({"print-1", rules, ""}, *Redactor::make(rules, {}));
  EXPECT_EQ(redaction_->operation("GET /cards/4111"), "GET /cards/[masked]");
  EXPECT_EQ(redaction_->operation("GET /"), "GET /");
  open(false);
  wire::AgentMessage report = skipped_captures('t');
  report.mutable_skipped_captures()->mutable_captures(0)->set_operation("GET /cards/4111");
  say(report);
  intake_->stop();
  TraceId trace;
  trace.bytes.fill('t');
  store::QueryBudget budget;
  const std::vector<store::SkippedCapture> stored = captures_.skipped_of_trace(trace, budget).value();
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].operation, "GET /cards/[masked]");
  EXPECT_EQ(stored[0].service, "");
}

}  // namespace
}  // namespace fathom::collector
