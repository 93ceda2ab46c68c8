#include "ingest/collector_messages.h"

#include <gtest/gtest.h>

#include "ingest.pb.h"
#include "ingest/limits.h"

namespace fathom::ingest {
namespace {

using Rules = Asked<std::vector<TracepointRule>>;

template <typename Message>
Message heard(const std::string& bytes) {
  Result<CollectorMessage> parsed = parse_collector_message(bytes);
  if (!parsed || !std::holds_alternative<Message>(*parsed)) {
    ADD_FAILURE() << (parsed ? "another kind of message" : parsed.error().message);
    return Message();
  }
  return std::get<Message>(*parsed);
}
template <typename Message>
Message heard(const v1::CollectorMessage& message) {
  return heard<Message>(message.SerializeAsString());
}

// As any other reader of protobuf would have it.
v1::CollectorMessage sent(const std::string& bytes) {
  v1::CollectorMessage message;
  EXPECT_TRUE(message.ParseFromString(bytes));
  return message;
}

NodeId node_of(uint8_t byte) {
  NodeId id;
  id.bytes.fill(byte);
  return id;
}

TEST(CollectorMessages, WhatIsNoMessage) {
  EXPECT_FALSE(parse_collector_message("\xff\xff").ok());
  EXPECT_TRUE(std::holds_alternative<UnknownMessage>(*parse_collector_message("")));
}

TEST(CollectorMessages, AWelcomeComesBack) {
  const Welcome welcome = heard<Welcome>(encode(Welcome{"1.0", 1, 2, 3, 4, 5, true}));
  EXPECT_EQ(welcome.collector_version, "1.0");
  EXPECT_EQ(welcome.max_batch_bytes, 1u);
  EXPECT_EQ(welcome.max_unacknowledged_bytes, 2u);
  EXPECT_EQ(welcome.max_unacknowledged_batches, 3u);
  EXPECT_EQ(welcome.max_capture_bytes, 4u);
  EXPECT_EQ(welcome.max_capture_bytes_under_way, 5u);
  EXPECT_TRUE(welcome.shares_capture_contents);
  const v1::Welcome said = sent(encode(welcome)).welcome();
  EXPECT_EQ(said.protocol_version(), kProtocolVersion);
  EXPECT_EQ(said.max_batch_bytes(), 1u);
  EXPECT_EQ(said.max_unacknowledged_bytes(), 2u);
  EXPECT_EQ(said.max_unacknowledged_batches(), 3u);
  EXPECT_EQ(said.max_capture_bytes(), 4u);
  EXPECT_EQ(said.max_capture_bytes_under_way(), 5u);
  EXPECT_TRUE(said.shares_capture_contents());
  v1::CollectorMessage older;
  older.mutable_welcome()->set_protocol_version(1);
  EXPECT_EQ(heard<Welcome>(older).max_capture_bytes, 0u) << "takes no captures";
  EXPECT_FALSE(heard<Welcome>(older).shares_capture_contents);
}

TEST(CollectorMessages, AnAckComesBack) {
  using Outcome = Ack::Outcome;
  for (Outcome outcome : {Outcome::kDurable, Outcome::kRetry, Outcome::kRefused}) {
    const Ack ack = heard<Ack>(encode(Ack{3, outcome, 4, "why", 5}));
    EXPECT_EQ(ack.sequence, 3u);
    EXPECT_EQ(ack.outcome, outcome);
    EXPECT_EQ(ack.retry_after_nano, 4u);
    EXPECT_EQ(ack.message, "why");
    EXPECT_EQ(ack.rejected_spans, 5u);
  }
  EXPECT_EQ(sent(encode(Ack{.outcome = Outcome::kDurable})).ack().outcome(), v1::Ack::DURABLE);
  EXPECT_EQ(sent(encode(Ack{.outcome = Outcome::kRetry})).ack().outcome(), v1::Ack::RETRY);
  EXPECT_EQ(sent(encode(Ack{.outcome = Outcome::kRefused})).ack().outcome(), v1::Ack::REFUSED);
  v1::CollectorMessage later;
  later.mutable_ack()->set_outcome(static_cast<v1::Ack::Outcome>(17));
  EXPECT_EQ(heard<Ack>(later).outcome, Outcome::kRetry) << "what a later version says must not drop anything";
}

TEST(CollectorMessages, AClockReplyComesBack) {
  const ClockReply reply = heard<ClockReply>(encode(ClockReply{1, 2, 3}));
  EXPECT_EQ(reply.probe_sent_unix_nano, 1u);
  EXPECT_EQ(reply.received_unix_nano, 2u);
  EXPECT_EQ(reply.sent_unix_nano, 3u);
}

TEST(CollectorMessages, ProgressComesBack) {
  using State = CaptureProgress::State;
  for (State state : {State::kTaken, State::kDurable, State::kRetry, State::kRefused}) {
    const CaptureProgress progress = heard<CaptureProgress>(encode(CaptureProgress{node_of(5), state, 8, 9, "full"}));
    EXPECT_EQ(progress.id, node_of(5));
    EXPECT_EQ(progress.state, state);
    EXPECT_EQ(progress.taken_bytes, 8u);
    EXPECT_EQ(progress.retry_after_nano, 9u);
    EXPECT_EQ(progress.message, "full");
  }
  auto state_sent = [](State state) {
    return sent(encode(CaptureProgress{.state = state})).capture_progress().state();
  };
  EXPECT_EQ(state_sent(State::kTaken), v1::CaptureProgress::TAKEN);
  EXPECT_EQ(state_sent(State::kDurable), v1::CaptureProgress::DURABLE);
  EXPECT_EQ(state_sent(State::kRetry), v1::CaptureProgress::RETRY);
  EXPECT_EQ(state_sent(State::kRefused), v1::CaptureProgress::REFUSED);
  v1::CollectorMessage later;
  later.mutable_capture_progress()->set_state(static_cast<v1::CaptureProgress::State>(9));
  EXPECT_EQ(heard<CaptureProgress>(later).state, State::kRetry) << "later words drop nothing";
}

TEST(CollectorMessages, ThresholdsComeInMessagesThatAgentsTake) {
  Thresholds thresholds{true, std::vector<OperationThreshold>(25'000, {"ns", "service", "operation", 2, 99})};
  std::vector<std::string> messages = encode_in_parts(thresholds);
  ASSERT_EQ(messages.size(), 3u);
  size_t total = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    const SaidThresholds said = heard<SaidThresholds>(messages[i]);
    EXPECT_EQ(said.thresholds.replaces, i == 0);
    EXPECT_EQ(said.passed_over, 0u);
    EXPECT_EQ(said.thresholds.operations[0], thresholds.operations[0]);
    total += said.thresholds.operations.size();
  }
  EXPECT_EQ(total, 25'000u);
  thresholds.operations.assign(5000, {"ns", "service", std::string(1000, 'o'), 2, 99});
  for (const std::string& message : encode_in_parts(thresholds)) EXPECT_LE(message.size(), kMostThresholdBytes);
  messages = encode_in_parts(Thresholds{true, {}});
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_TRUE(heard<SaidThresholds>(messages[0]).thresholds.replaces) << "there are none any more";
}

TEST(CollectorMessages, ThresholdsAreHeardWithinLimits) {
  v1::CollectorMessage message;
  for (size_t i = 0; i < kMostThresholds + 1; ++i) {
    message.mutable_thresholds()->add_operations()->set_operation(std::string(i == 0 ? 3000 : 3, 'o'));
  }
  const SaidThresholds said = heard<SaidThresholds>(message);
  ASSERT_EQ(said.thresholds.operations.size(), kMostThresholds);
  EXPECT_EQ(said.passed_over, 1u);
  EXPECT_EQ(said.thresholds.operations[0].operation.size(), 1024u);
  EXPECT_EQ(said.thresholds.operations[1].operation, "ooo");
}

TEST(CollectorMessages, ACaptureRequestComesBack) {
  const CaptureRequest request{.request_id = 5,
                               .trigger = CaptureTrigger::kRemote,
                               .trace_id = node_of(1),
                               .pid = 6,
                               .service = "s",
                               .node_id = node_of(2),
                               .start_unix_nano = 7,
                               .end_unix_nano = 8,
                               .duration_nano = 9,
                               .reason = "because"};
  const auto asked = heard<Asked<CaptureRequest>>(encode(request));
  EXPECT_EQ(asked.fault, "");
  EXPECT_EQ(asked.request, request);
  const v1::CaptureRequest said = sent(encode(request)).capture_request();
  EXPECT_EQ(said.trigger(), v1::CAPTURE_TRIGGER_REMOTE);
  EXPECT_EQ(said.start_unix_nano(), 7u);
  EXPECT_EQ(said.end_unix_nano(), 8u);
  EXPECT_EQ(said.duration_nano(), 9u);
  CaptureRequest by_service{.service = "s\xff"};
  const auto repaired = heard<Asked<CaptureRequest>>(encode(by_service));
  EXPECT_EQ(repaired.request.service, "s\xef\xbf\xbd") << "or the agent could not read the message";
  EXPECT_FALSE(repaired.request.node_id);
}

TEST(CollectorMessages, ACaptureRequestThatCannotBeObeyedSaysWhy) {
  v1::CollectorMessage message;
  auto& request = *message.mutable_capture_request();
  auto fault = [&] { return heard<Asked<CaptureRequest>>(message).fault; };
  request.set_request_id(3);
  EXPECT_NE(fault(), "") << "whose detail?";
  request.set_pid(5);
  EXPECT_EQ(fault(), "");
  request.set_trigger(static_cast<v1::CaptureTrigger>(99));
  EXPECT_EQ(heard<Asked<CaptureRequest>>(message).request.trigger, CaptureTrigger::kRequested)
      << "what is not known is a person's";
  request.set_node_id("short");
  EXPECT_NE(fault(), "");
  request.clear_node_id();
  request.set_trace_id("short");
  EXPECT_NE(fault(), "");
  request.clear_trace_id();
  request.set_start_unix_nano(9);
  request.set_end_unix_nano(8);
  EXPECT_NE(fault(), "");
}

TEST(CollectorMessages, ATracepointRequestComesBack) {
  for (TracepointAction action : {TracepointAction::kList, TracepointAction::kEnable, TracepointAction::kDisable}) {
    const TracepointRequest request{5, action, std::vector<std::string>(kMostPatterns, std::string(256, 'p')),
                                    4, "s",    node_of(3)};
    const auto asked = heard<Asked<TracepointRequest>>(encode(request));
    EXPECT_EQ(asked.fault, "");
    EXPECT_EQ(asked.request, request);
  }
}

TEST(CollectorMessages, ActionsHaveTheirNumbers) {
  auto action_sent = [](TracepointAction action) {
    return sent(encode(TracepointRequest{.action = action})).tracepoint_request().action();
  };
  EXPECT_EQ(action_sent(TracepointAction::kList), v1::TracepointRequest::LIST);
  EXPECT_EQ(action_sent(TracepointAction::kEnable), v1::TracepointRequest::ENABLE);
  EXPECT_EQ(action_sent(TracepointAction::kDisable), v1::TracepointRequest::DISABLE);
}

TEST(CollectorMessages, ATracepointRequestThatCannotBeObeyedSaysWhy) {
  v1::CollectorMessage message;
  auto& request = *message.mutable_tracepoint_request();
  auto fault = [&] { return heard<Asked<TracepointRequest>>(message).fault; };
  request.set_request_id(3);
  for (size_t i = 0; i < kMostPatterns; ++i) request.add_patterns("p");
  EXPECT_EQ(fault(), "");
  request.add_patterns("one too many");
  EXPECT_NE(fault(), "");
  request.clear_patterns();
  request.add_patterns(std::string(257, 'p'));
  EXPECT_NE(fault(), "") << "a shorter one would be another";
  request.clear_patterns();
  request.set_action(static_cast<v1::TracepointRequest::Action>(9));
  EXPECT_NE(fault(), "");
  EXPECT_EQ(heard<Asked<TracepointRequest>>(message).request.request_id, 3u) << "it is answered";
}

TEST(CollectorMessages, RulesAreReadAllOrNone) {
  EXPECT_TRUE(heard<Rules>(encode(std::vector<TracepointRule>())).request.empty()) << "those of before are void";
  std::vector<TracepointRule> rules(kMostRules, {false, "a", "", std::nullopt});
  rules[1] = {true, "a", "shop", std::nullopt};
  EXPECT_EQ(heard<Rules>(encode(rules)).request, rules);
  rules.push_back(rules[0]);
  EXPECT_NE(heard<Rules>(encode(rules)).fault, "");
  rules.assign(20, {false, std::string(200, 'a'), "", std::nullopt});
  EXPECT_NE(heard<Rules>(encode(rules)).fault, "");
  EXPECT_TRUE(heard<Rules>(encode(rules)).request.empty());
}

TEST(CollectorMessages, RulesOfRedactionComeBack) {
  const RedactionRules none;
  EXPECT_EQ(heard<Asked<RedactionRules>>(encode(none)).request, none) << "those of before are void";
  const RedactionRules rules{"print", {"hash key user.email", "mask value \xff[0-9]{16}"}, std::string(32, '\xfe')};
  const auto asked = heard<Asked<RedactionRules>>(encode(rules));
  EXPECT_EQ(asked.fault, "");
  EXPECT_EQ(asked.request, rules) << "not repaired: it would be another rule";
}

TEST(CollectorMessages, RulesOfRedactionAreReadAllOrNone) {
  const auto heard_of = [](const RedactionRules& rules) { return heard<Asked<RedactionRules>>(encode(rules)); };
  RedactionRules rules{"print", std::vector<std::string>(kMostRedactionRules, "drop key a"), "key"};
  EXPECT_EQ(heard_of(rules).request, rules);
  rules.rules.emplace_back("drop key b");
  EXPECT_NE(heard_of(rules).fault, "");
  EXPECT_EQ(heard_of(rules).request, RedactionRules()) << "what is left out would not be redacted";
  const std::string long_rule(kMostRedactionBytes / 2 + 1, 'a');
  EXPECT_NE(heard_of({"print", {long_rule, long_rule}, "key"}).fault, "");
  EXPECT_NE(heard_of({"print", {"drop key a"}, std::string(kMostRedactionKeyBytes + 1, 'k')}).fault, "");
  EXPECT_NE(heard_of({std::string(kMostFingerprintBytes + 1, 'f'), {"drop key a"}, "key"}).fault, "");
  EXPECT_NE(heard_of({"", {"drop key a"}, "key"}).fault, "") << "captures could not say that they are redacted";
}

}  // namespace
}  // namespace fathom::ingest
