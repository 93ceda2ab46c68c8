#include "node-agent/uplink/control_messages.h"

#include <gtest/gtest.h>

#include "base/ids.h"
#include "ingest.pb.h"
#include "node-agent/uplink/messages.h"
#include "proto/ingest_limits.h"

namespace fathom::agent {
namespace {

namespace wire = fathom::ingest::v1;

OutgoingCapture full_capture() {
  OutgoingCapture capture;
  capture.id.fill(0x11);
  capture.trace_id.fill(0x22);
  capture.span_id.fill(0x33);
  capture.trigger = CaptureTrigger::kCrash;
  capture.service = "checkout";
  capture.pid = 7;
  capture.operation = "GET /";
  capture.start_unix_nano = 1;
  capture.end_unix_nano = 2;
  capture.crosses_clock_jump = capture.truncated = true;
  capture.losses = {{"torn", 4}};
  capture.content = std::make_shared<const std::string>("content");
  capture.sha256.fill(0x44);
  return capture;
}

std::optional<LinkControl> read_rules(const wire::TracepointRules& rules) {
  wire::CollectorMessage message;
  *message.mutable_tracepoint_rules() = rules;
  return read_control(message);
}

TEST(ControlMessages, RulesAreReadAllOrNone) {
  wire::TracepointRules rules;
  EXPECT_TRUE(std::get<AskedRules>(*read_rules(rules)).rules.empty()) << "those of before are void";
  for (size_t i = 0; i < ingest::kMostRules; ++i) rules.add_rules()->set_pattern("a");
  rules.mutable_rules(1)->set_enables(true);
  rules.mutable_rules(1)->set_service("shop");
  AskedRules asked = std::get<AskedRules>(*read_rules(rules));
  ASSERT_EQ(asked.rules.size(), ingest::kMostRules);
  EXPECT_FALSE(asked.rules[0].enables);
  EXPECT_TRUE(asked.rules[1].enables);
  EXPECT_EQ(asked.rules[1].pattern, "a");
  EXPECT_EQ(asked.rules[1].service, "shop");
  rules.add_rules()->set_pattern("a");
  EXPECT_FALSE(read_rules(rules).has_value());
  rules.clear_rules();
  for (int i = 0; i < 20; ++i) rules.add_rules()->set_pattern(std::string(200, 'a'));
  EXPECT_FALSE(read_rules(rules).has_value());
}

// The bytes of version 1.
TEST(ControlMessages, ACapturesBeginningIsThis) {
  EXPECT_EQ(to_hex(capture_begin_message(full_capture(), ClockOffset{-1, 300})),
            "2a8e01"
            "0a1011111111111111111111111111111111"
            "121022222222222222222222222222222222"
            "1a083333333333333333"
            "2006"
            "2a08636865636b6f7574"
            "3007"
            "3a05474554202f"
            "410100000000000000"
            "490200000000000000"
            "5205080110ac02"
            "5801"
            "6001"
            "6a080a04746f726e1004"
            "7007"
            "7a20" +
                std::string(64, '4'));
}

TEST(ControlMessages, WhatIsNotKnownIsNotSaid) {
  OutgoingCapture capture;
  capture.content = std::make_shared<const std::string>("content");
  wire::AgentMessage message;
  ASSERT_TRUE(message.ParseFromString(capture_begin_message(capture, std::nullopt)));
  EXPECT_TRUE(message.capture_begin().trace_id().empty());
  EXPECT_TRUE(message.capture_begin().span_id().empty());
  EXPECT_TRUE(message.capture_begin().sha256().empty());
  EXPECT_FALSE(message.capture_begin().has_clock());
  EXPECT_EQ(message.capture_begin().size_bytes(), 7u);
}

TEST(ControlMessages, TextsOfProgramsAreMadeSuchThatTheyCanBeSent) {
  OutgoingCapture capture = full_capture();
  capture.service = "\xff" + std::string(5000, 's');
  capture.operation = std::string(1023, 'o') + "\xc3\xa9";
  capture.losses.assign(100, {"torn", 1});
  wire::AgentMessage message;
  ASSERT_TRUE(message.ParseFromString(capture_begin_message(capture, std::nullopt)));
  EXPECT_TRUE(message.capture_begin().service().starts_with("\xef\xbf\xbds"));
  EXPECT_EQ(message.capture_begin().service().size(), 1024u);
  EXPECT_EQ(message.capture_begin().operation(), std::string(1023, 'o'));
  EXPECT_EQ(message.capture_begin().losses_size(), 64);
}

TEST(ControlMessages, APartIsItsHeadAndItsBytes) {
  std::array<uint8_t, 16> id;
  id.fill(0xab);
  for (size_t size : {size_t{1}, size_t{127}, size_t{128}, size_t{70'000}}) {
    wire::AgentMessage message;
    ASSERT_TRUE(message.ParseFromString(capture_part_head(id, 1u << 30, size) + std::string(size, 'x')));
    EXPECT_EQ(message.capture_part().capture_id(), std::string(16, '\xab'));
    EXPECT_EQ(message.capture_part().offset(), 1u << 30);
    EXPECT_EQ(message.capture_part().content(), std::string(size, 'x'));
  }
  EXPECT_EQ(to_hex(capture_part_head(id, 300, 5)), "321c0a10abababababababababababababababab10ac021a05");
}

TEST(ControlMessages, AnswersAreSaid) {
  wire::AgentMessage message;
  CaptureAnswer answer{.request_id = 4, .capture_ids = {{1}, {2}}, .skipped = "too often"};
  ASSERT_TRUE(message.ParseFromString(capture_answer_message(answer)));
  EXPECT_EQ(message.capture_answer().request_id(), 4u);
  EXPECT_EQ(message.capture_answer().capture_ids_size(), 2);
  EXPECT_EQ(message.capture_answer().skipped(), "too often");
  TracepointAnswer listed{.request_id = 5, .programs = {{7, "checkout", {{"cache.miss", "cache.cc", 3, true}}}}};
  ASSERT_TRUE(message.ParseFromString(tracepoint_answer_message(listed)));
  EXPECT_EQ(message.tracepoint_answer().request_id(), 5u);
  EXPECT_FALSE(message.tracepoint_answer().truncated());
  const auto& program = message.tracepoint_answer().programs(0);
  EXPECT_EQ(program.pid(), 7u);
  EXPECT_EQ(program.service(), "checkout");
  EXPECT_EQ(program.tracepoints(0).name(), "cache.miss");
  EXPECT_EQ(program.tracepoints(0).file(), "cache.cc");
  EXPECT_EQ(program.tracepoints(0).line(), 3u);
  EXPECT_TRUE(program.tracepoints(0).on());
  EXPECT_FALSE(program.truncated());
}

TEST(ControlMessages, ALongAnswerSaysThatItIsCut) {
  TracepointAnswer listed{.request_id = 5};
  TracepointState state{std::string(300, 'n'), "file.cc", 3, true};
  listed.programs.assign(10, {7, "checkout", std::vector<TracepointState>(1000, state)});
  std::string bytes = tracepoint_answer_message(listed);
  EXPECT_LE(bytes.size(), 1u << 20);
  wire::AgentMessage message;
  ASSERT_TRUE(message.ParseFromString(bytes));
  EXPECT_TRUE(message.tracepoint_answer().truncated());
  int programs = message.tracepoint_answer().programs_size();
  ASSERT_GT(programs, 1);
  EXPECT_FALSE(message.tracepoint_answer().programs(0).truncated());
  EXPECT_TRUE(message.tracepoint_answer().programs(programs - 1).truncated());
}

std::optional<CollectorWords> heard(const wire::CollectorMessage& message) {
  return parse_collector_message(message.SerializeAsString());
}

TEST(ControlMessages, ProgressIsHeard) {
  wire::CollectorMessage message;
  auto& progress = *message.mutable_capture_progress();
  progress.set_capture_id(std::string(16, '\x05'));
  progress.set_state(wire::CaptureProgress::DURABLE);
  progress.set_taken_bytes(8);
  auto words = heard(message);
  ASSERT_TRUE(words && words->progress);
  EXPECT_EQ(words->progress->id[15], 5);
  EXPECT_EQ(words->progress->state, LinkProgress::State::kDurable);
  EXPECT_EQ(words->progress->taken_bytes, 8u);
  progress.set_state(static_cast<wire::CaptureProgress::State>(9));
  EXPECT_EQ(heard(message)->progress->state, LinkProgress::State::kRetry) << "later words drop nothing";
}

TEST(ControlMessages, TheWelcomeSaysWhetherCapturesAreTaken) {
  wire::CollectorMessage message;
  message.mutable_welcome()->set_protocol_version(1);
  EXPECT_EQ(heard(message)->welcome->max_capture_bytes, 0u);
  message.mutable_welcome()->set_max_capture_bytes(5);
  message.mutable_welcome()->set_max_capture_bytes_under_way(6);
  EXPECT_EQ(heard(message)->welcome->max_capture_bytes, 5u);
  EXPECT_EQ(heard(message)->welcome->max_capture_bytes_under_way, 6u);
}

TEST(ControlMessages, ThresholdsAreHeardWithinLimits) {
  wire::CollectorMessage message;
  auto& thresholds = *message.mutable_thresholds();
  thresholds.set_replaces(true);
  for (int i = 0; i < 10'001; ++i) {
    auto& one = *thresholds.add_operations();
    one.set_service_namespace("ns");
    one.set_service("service");
    one.set_operation(std::string(i == 0 ? 3000 : 3, 'o'));
    one.set_kind(2);
    one.set_threshold_nano(77);
  }
  auto words = heard(message);
  ASSERT_TRUE(words && words->control);
  auto& asked = std::get<AskedThresholds>(*words->control);
  EXPECT_TRUE(asked.replaces);
  ASSERT_EQ(asked.operations.size(), ingest::kMostThresholds);
  EXPECT_EQ(asked.operations[0].operation.size(), 1024u);
  EXPECT_EQ(asked.operations[1].service_namespace, "ns");
  EXPECT_EQ(asked.operations[1].service, "service");
  EXPECT_EQ(asked.operations[1].operation, "ooo");
  EXPECT_EQ(asked.operations[1].kind, 2);
  EXPECT_EQ(asked.operations[1].threshold_nano, 77u);
}

AskedCapture asked_capture(const wire::CollectorMessage& message) {
  return std::get<AskedCapture>(heard(message)->control.value());
}

TEST(ControlMessages, CaptureRequestsAreHeard) {
  wire::CollectorMessage message;
  auto& request = *message.mutable_capture_request();
  request.set_request_id(3);
  request.set_trigger(7);
  request.set_trace_id(std::string(16, '\x01'));
  request.set_node_id(std::string(16, '\x02'));
  request.set_start_unix_nano(5);
  request.set_end_unix_nano(6);
  request.set_duration_nano(7);
  request.set_reason("because");
  AskedCapture asked = asked_capture(message);
  EXPECT_EQ(asked.fault, "");
  EXPECT_EQ(asked.node_id[0], 2);
  EXPECT_EQ(asked.request.request_id, 3u);
  EXPECT_EQ(asked.request.trigger, CaptureTrigger::kRemote);
  EXPECT_EQ(asked.request.trace_id[0], 1);
  EXPECT_EQ(asked.request.start_unix_nano, 5u);
  EXPECT_EQ(asked.request.end_unix_nano, 6u);
  EXPECT_EQ(asked.request.duration_nano, 7u);
  EXPECT_EQ(asked.request.reason, "because");
}

TEST(ControlMessages, CaptureRequestsThatCannotBeObeyedSayWhy) {
  wire::CollectorMessage message;
  auto& request = *message.mutable_capture_request();
  request.set_request_id(3);
  EXPECT_NE(asked_capture(message).fault, "") << "whose detail?";
  request.set_pid(5);
  EXPECT_EQ(asked_capture(message).fault, "");
  EXPECT_EQ(asked_capture(message).request.trigger, CaptureTrigger::kRequested) << "what is not known is a person's";
  request.set_node_id("short");
  EXPECT_NE(asked_capture(message).fault, "");
  request.clear_node_id();
  request.set_start_unix_nano(9);
  request.set_end_unix_nano(8);
  EXPECT_NE(asked_capture(message).fault, "");
}

AskedTracepoints asked_tracepoints(const wire::CollectorMessage& message) {
  return std::get<AskedTracepoints>(heard(message)->control.value());
}

TEST(ControlMessages, TracepointRequestsAreHeard) {
  wire::CollectorMessage message;
  auto& request = *message.mutable_tracepoint_request();
  request.set_request_id(3);
  request.set_action(wire::TracepointRequest::ENABLE);
  for (int i = 0; i < 64; ++i) request.add_patterns(std::string(256, 'p'));
  request.set_pid(4);
  request.set_service("s");
  AskedTracepoints asked = asked_tracepoints(message);
  EXPECT_EQ(asked.fault, "");
  EXPECT_EQ(asked.request.action, TracepointRequest::Action::kEnable);
  EXPECT_EQ(asked.request.patterns.size(), 64u);
  EXPECT_EQ(asked.request.pid, 4u);
  EXPECT_EQ(asked.request.service, "s");
  request.add_patterns("one too many");
  EXPECT_NE(asked_tracepoints(message).fault, "");
  request.clear_patterns();
  request.add_patterns(std::string(257, 'p'));
  EXPECT_NE(asked_tracepoints(message).fault, "") << "a shorter one would be another";
  request.clear_patterns();
  request.set_action(static_cast<wire::TracepointRequest::Action>(9));
  EXPECT_NE(asked_tracepoints(message).fault, "");
  EXPECT_EQ(asked_tracepoints(message).request.request_id, 3u) << "it is answered";
}

}  // namespace
}  // namespace fathom::agent
