#include "ingest/agent_messages.h"

#include <gtest/gtest.h>

#include <cctype>

#include "base/protobuf_writer.h"
#include "ingest.pb.h"
#include "ingest/limits.h"

namespace fathom::ingest {
namespace {

template <typename AnyId>
AnyId filled(uint8_t byte) {
  AnyId id;
  id.bytes.fill(byte);
  return id;
}

template <typename Message>
Result<Message> read(const std::string& bytes) {
  Result<AgentMessage> parsed = parse_agent_message(bytes);
  if (!parsed) return parsed.error();
  Message* read = std::get_if<Message>(&*parsed);
  if (read == nullptr) return invalid("another kind of message");
  return std::move(*read);
}
template <typename Message>
Result<Message> read(const v1::AgentMessage& message) {
  return read<Message>(message.SerializeAsString());
}

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

TEST(AgentMessages, TheProtocolAndBaseNameTheSameTriggersAndReasons) {
  for (size_t i = 0; i < kCaptureTriggerNames.size(); ++i) {
    const auto trigger = static_cast<v1::CaptureTrigger>(i + 1);
    EXPECT_EQ(v1::CaptureTrigger_Name(trigger), upper_case("capture_trigger_" + std::string(kCaptureTriggerNames[i])));
  }
  for (size_t i = 0; i < kSkipReasonNames.size(); ++i) {
    const auto reason = static_cast<v1::SkipReason>(i + 1);
    EXPECT_EQ(v1::SkipReason_Name(reason), upper_case("skip_reason_" + std::string(kSkipReasonNames[i])));
  }
}

CaptureBegin full_begin() {
  return {.id = filled<CaptureId>(0x11),
          .trace_id = filled<TraceId>(0x22),
          .span_id = filled<SpanId>(0x33),
          .trigger = CaptureTrigger::kCrash,
          .service = "checkout",
          .pid = 7,
          .operation = "GET /",
          .start_unix_nano = 1,
          .end_unix_nano = 2,
          .clock = ClockOffset{-1, 300},
          .crosses_clock_jump = true,
          .truncated = true,
          .losses = {{"torn", 4}},
          .size_bytes = 7,
          .sha256 = filled<Sha256>(0x44),
          .redaction_fingerprint = "rules-1"};
}

// ---- batches

TEST(AgentMessages, ABatchIsItsHeadAndItsBytes) {
  const auto identity = filled<BatchIdentity>(0xab);
  for (size_t size : {size_t{0}, size_t{1}, size_t{127}, size_t{128}, size_t{70'000}}) {
    for (std::optional<ClockOffset> clock : {std::optional<ClockOffset>(), std::optional(ClockOffset{-5, 1u << 31})}) {
      const std::string otlp(size, 'x');
      const std::string bytes = batch_head(300, identity, clock, size) + otlp;
      Result<AgentMessage> parsed = parse_agent_message(bytes);
      ASSERT_TRUE(parsed.ok()) << parsed.error().message;
      const Batch& batch = std::get<Batch>(*parsed);
      EXPECT_EQ(batch.sequence, 300u);
      EXPECT_EQ(batch.identity, identity);
      EXPECT_EQ(batch.otlp, otlp);
      EXPECT_EQ(batch.clock, clock);
      EXPECT_EQ(peek_batch(bytes), 300u);
      EXPECT_FALSE(peek_tracepoint_answer(bytes));
      v1::AgentMessage message;
      ASSERT_TRUE(message.ParseFromString(bytes));
      EXPECT_EQ(message.batch().otlp(), otlp);
    }
  }
}

// The bytes of version 1.
TEST(AgentMessages, ABatchesHeadIsThis) {
  EXPECT_EQ(to_hex(batch_head(2, filled<BatchIdentity>(0x11), ClockOffset{-1, 300}, 5)),
            "1222080212101111111111111111111111111111111" + std::string("11a05080110ac022205"));
}

TEST(AgentMessages, ABatchNeedsAnIdentity) {
  v1::AgentMessage message;
  message.mutable_batch()->set_sequence(1);
  EXPECT_FALSE(read<Batch>(message).ok());
  message.mutable_batch()->set_identity("short");
  EXPECT_FALSE(read<Batch>(message).ok());
  message.mutable_batch()->set_identity(std::string(16, 'i'));
  EXPECT_TRUE(read<Batch>(message).ok());
}

// ---- the stream itself

TEST(AgentMessages, AHelloComesBack) {
  const Hello hello{.node_id = filled<NodeId>(1),
                    .instance_id = filled<InstanceId>(2),
                    .host_name = "db-1",
                    .agent_version = "1.2",
                    .takes_requests = true,
                    .reports_skipped_captures = true,
                    .slowest_period_nano = 60'000'000'000,
                    .node_key = filled<NodeKey>(3),
                    .takes_redaction_rules = true};
  Result<Hello> back = read<Hello>(encode(hello));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->protocol_version, kProtocolVersion);
  EXPECT_EQ(back->node_id, hello.node_id);
  EXPECT_EQ(back->instance_id, hello.instance_id);
  EXPECT_EQ(back->node_key, hello.node_key);
  EXPECT_EQ(back->host_name, "db-1");
  EXPECT_EQ(back->agent_version, "1.2");
  EXPECT_TRUE(back->takes_requests);
  EXPECT_FALSE(back->captures_off);
  EXPECT_TRUE(back->reports_skipped_captures);
  EXPECT_EQ(back->slowest_period_nano, 60'000'000'000u);
  EXPECT_TRUE(back->takes_redaction_rules);
  for (auto change : {+[](Hello& one) { one.node_id = {}; }, +[](Hello& one) { one.instance_id = {}; },
                      +[](Hello& one) { one.protocol_version = 0; }}) {
    Hello wrong = hello;
    change(wrong);
    EXPECT_EQ(read<Hello>(encode(wrong)).error().code, ErrorCode::kInvalid);
  }
}

TEST(AgentMessages, AnAgentWithoutCapturesSaysSo) {
  Hello hello{.node_id = filled<NodeId>(1), .instance_id = filled<InstanceId>(2), .captures_off = true};
  const Result<Hello> back = read<Hello>(encode(hello));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->captures_off);
  EXPECT_FALSE(back->reports_skipped_captures) << "as of an older agent, which says none of these";
  EXPECT_EQ(back->slowest_period_nano, 0u);
  EXPECT_FALSE(back->takes_redaction_rules);
}

TEST(AgentMessages, AStatusComesBack) {
  NodeStatus status{.programs = 1,
                    .clock = ClockOffset{-3, 4},
                    .clock_measured_unix_nano = 5,
                    .spool_bytes = 6,
                    .spool_limit_bytes = 7,
                    .acknowledged_spans = 8,
                    .resident_bytes = 9,
                    .losses = {{"pool_full", 10}, {std::string(300, 'r'), 11}}};
  Result<NodeStatus> back = read<NodeStatus>(encode(status));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->programs, 1u);
  EXPECT_EQ(back->clock, status.clock);
  EXPECT_EQ(back->clock_measured_unix_nano, 5u);
  EXPECT_EQ(back->spool_bytes, 6u);
  EXPECT_EQ(back->spool_limit_bytes, 7u);
  EXPECT_EQ(back->acknowledged_spans, 8u);
  EXPECT_EQ(back->resident_bytes, 9u);
  EXPECT_EQ(back->losses, (Losses{{"pool_full", 10}, {std::string(256, 'r'), 11}}));
  EXPECT_EQ(read<ClockProbe>(encode(ClockProbe{12}))->sent_unix_nano, 12u);
}

TEST(AgentMessages, AMessageIsOneThing) {
  EXPECT_TRUE(read<UnknownMessage>(std::string()).ok());
  std::string later;
  WireAppender(later).bytes_field(2046, std::string(5 << 20, 'x'));
  EXPECT_TRUE(read<UnknownMessage>(later).ok()) << "a kind of later, of any size";
  EXPECT_FALSE(parse_agent_message("\xff\xff").ok());
  EXPECT_FALSE(parse_agent_message(encode(ClockProbe{1}) + encode(ClockProbe{2})).ok());
}

// ---- captures

// The bytes of version 1.
TEST(AgentMessages, ACapturesBeginningIsThis) {
  EXPECT_EQ(to_hex(encode(full_begin())),
            "2a9801"
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
                std::string(64, '4') + "8a0107" + to_hex("rules-1"));
}

TEST(AgentMessages, ACapturesBeginningComesBack) {
  Result<CaptureBegin> begin = read<CaptureBegin>(encode(full_begin()));
  ASSERT_TRUE(begin.ok()) << begin.error().message;
  EXPECT_EQ(encode(*begin), encode(full_begin()));
  EXPECT_EQ(begin->trigger, CaptureTrigger::kCrash);
  EXPECT_EQ(begin->clock, (ClockOffset{-1, 300}));
  EXPECT_EQ(begin->losses, (Losses{{"torn", 4}}));
  EXPECT_EQ(begin->redaction_fingerprint, "rules-1");
}

TEST(AgentMessages, ABeginningSaysThatNoPartsFollow) {
  CaptureBegin begin = full_begin();
  EXPECT_FALSE(read<CaptureBegin>(encode(begin))->content_is_stored);
  begin.content_is_stored = true;
  EXPECT_TRUE(read<CaptureBegin>(encode(begin))->content_is_stored);
}

TEST(AgentMessages, WhatIsNotKnownOfACaptureIsNotSaid) {
  v1::AgentMessage message;
  ASSERT_TRUE(message.ParseFromString(encode(CaptureBegin{.id = filled<CaptureId>(1)})));
  EXPECT_TRUE(message.capture_begin().trace_id().empty());
  EXPECT_TRUE(message.capture_begin().span_id().empty());
  EXPECT_TRUE(message.capture_begin().sha256().empty());
  EXPECT_FALSE(message.capture_begin().has_clock());
}

TEST(AgentMessages, TextsOfProgramsAreMadeSuchThatTheyCanBeSent) {
  CaptureBegin begin = full_begin();
  begin.service = "\xff" + std::string(5000, 's');
  begin.operation = std::string(1023, 'o') + "\xc3\xa9";
  begin.losses.assign(100, {"torn", 1});
  Result<CaptureBegin> back = read<CaptureBegin>(encode(begin));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->service.starts_with("\xef\xbf\xbds"));
  EXPECT_EQ(back->service.size(), 1024u);
  EXPECT_EQ(back->operation, std::string(1023, 'o'));
  EXPECT_EQ(back->losses.size(), kMostLosses);
}

TEST(AgentMessages, LimitsHoldForWhatIsRead) {
  v1::AgentMessage message;
  auto& begin = *message.mutable_capture_begin();
  begin.set_capture_id(std::string(16, 'c'));
  for (int i = 0; i < 70; ++i) begin.add_losses()->set_reason(std::string(300, 'r'));
  begin.set_operation(std::string(5000, 'o'));
  Result<CaptureBegin> back = read<CaptureBegin>(message);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->operation.size(), 1024u);
  EXPECT_EQ(back->losses.size(), kMostLosses);
  EXPECT_EQ(back->losses[1].first.size(), 256u);
  begin.set_operation(std::string(kMostSmallMessageBytes, 'o'));
  EXPECT_FALSE(read<CaptureBegin>(message).ok());
}

// A service is what a program says; a host's name, what its owner typed.
TEST(AgentMessages, TextsThatAreNotUtf8AreRepaired) {
  const std::string wrong =
                        "\xff"
                        "x",
                    repaired = "\xef\xbf\xbdx";
  v1::AgentMessage message;
  message.mutable_hello()->set_node_id(std::string(16, 'n'));
  message.mutable_hello()->set_instance_id(std::string(16, 'i'));
  message.mutable_hello()->set_protocol_version(1);
  message.mutable_hello()->set_host_name(wrong);
  EXPECT_EQ(read<Hello>(message)->host_name, repaired);
  message.mutable_status()->add_losses()->set_reason(wrong);
  EXPECT_EQ(read<NodeStatus>(message)->losses.at(0).first, repaired);
  message.mutable_capture_begin()->set_capture_id(std::string(16, 'c'));
  message.mutable_capture_begin()->set_service(wrong);
  message.mutable_capture_begin()->set_operation(wrong);
  EXPECT_EQ(read<CaptureBegin>(message)->service, repaired);
  EXPECT_EQ(read<CaptureBegin>(message)->operation, repaired);
  message.mutable_capture_answer()->set_skipped(wrong);
  EXPECT_EQ(read<CaptureAnswer>(message)->skipped, repaired);
  auto& program = *message.mutable_tracepoint_answer()->add_programs();
  program.set_service(wrong);
  program.add_tracepoints()->set_name(wrong);
  EXPECT_EQ(read<TracepointAnswer>(message)->programs.at(0).service, repaired);
  EXPECT_EQ(read<TracepointAnswer>(message)->programs.at(0).tracepoints.at(0).name, repaired);
}

TEST(AgentMessages, ATriggerThatIsNotKnownIsNone) {
  for (int trigger : {0, 8, 256 + 3, -1}) {
    v1::AgentMessage message;
    message.mutable_capture_begin()->set_capture_id(std::string(16, 'c'));
    message.mutable_capture_begin()->set_trigger(static_cast<v1::CaptureTrigger>(trigger));
    Result<CaptureBegin> begin = read<CaptureBegin>(message);
    ASSERT_TRUE(begin.ok());
    EXPECT_EQ(begin->trigger, CaptureTrigger{}) << trigger;
  }
}

TEST(AgentMessages, IdsOfAWrongSizeAreNoMessage) {
  auto with = [](auto change) {
    v1::AgentMessage message;
    EXPECT_TRUE(message.ParseFromString(encode(full_begin())));
    change(*message.mutable_capture_begin());
    return read<CaptureBegin>(message).ok();
  };
  EXPECT_FALSE(with([](auto& begin) { begin.clear_capture_id(); }));
  EXPECT_FALSE(with([](auto& begin) { begin.set_capture_id(std::string(16, '\0')); }));
  EXPECT_FALSE(with([](auto& begin) { begin.set_trace_id("short"); }));
  EXPECT_FALSE(with([](auto& begin) { begin.set_span_id(std::string(16, 's')); }));
  EXPECT_FALSE(with([](auto& begin) { begin.set_sha256(std::string(31, 's')); }));
  EXPECT_TRUE(with([](auto& begin) { begin.clear_trace_id(), begin.clear_span_id(), begin.clear_sha256(); }));
}

TEST(AgentMessages, APartIsItsHeadAndItsBytes) {
  const auto id = filled<CaptureId>(0xab);
  for (size_t size : {size_t{1}, size_t{127}, size_t{128}, size_t{70'000}, size_t{kMostCapturePartBytes}}) {
    const std::string bytes = capture_part_head(id, 1u << 30, size) + std::string(size, 'x');
    Result<AgentMessage> parsed = parse_agent_message(bytes);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    const CapturePart& part = std::get<CapturePart>(*parsed);
    EXPECT_EQ(part.id, id);
    EXPECT_EQ(part.offset, 1u << 30);
    EXPECT_EQ(part.content, std::string(size, 'x'));
    EXPECT_EQ(peek_capture_part(bytes.substr(0, 30)), id);
    EXPECT_FALSE(peek_capture_part(bytes.substr(0, 15)));
  }
  for (size_t size : {size_t{0}, size_t{kMostCapturePartBytes + 1}}) {
    EXPECT_FALSE(read<CapturePart>(capture_part_head(id, 1, size) + std::string(size, 'x')).ok()) << size;
  }
  EXPECT_EQ(to_hex(capture_part_head(id, 300, 5)), "321c0a10abababababababababababababababab10ac021a05");
}

// ---- slow traces

TEST(AgentMessages, ASlowTraceComesBack) {
  Result<SlowTrace> back =
      read<SlowTrace>(encode(SlowTrace{filled<TraceId>(3), "GET /cart", 95, 10, 20, ClockOffset{-7, 1}}));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->trace_id, filled<TraceId>(3));
  EXPECT_EQ(back->operation, "GET /cart");
  EXPECT_EQ(back->hold_nano, 95u);
  EXPECT_EQ(back->start_unix_nano, 10u);
  EXPECT_EQ(back->end_unix_nano, 20u);
  EXPECT_EQ(back->clock->offset_nano, -7);
  EXPECT_FALSE(read<SlowTrace>(encode(SlowTrace{})).ok()) << "of no trace";
}

// ---- skipped captures

SkippedCapture full_skipped() {
  return {.trace_id = filled<TraceId>(0x22),
          .span_id = filled<SpanId>(0x33),
          .trigger = CaptureTrigger::kSlow,
          .reason = SkipReason::kMemory,
          .service = "checkout",
          .pid = 7,
          .operation = "GET /",
          .skipped_unix_nano = 1};
}

TEST(AgentMessages, SkippedCapturesComeBack) {
  SkippedCapture other{.trace_id = filled<TraceId>(4)};
  const SkippedCaptures skipped{full_skipped(), other};
  Result<SkippedCaptures> back = read<SkippedCaptures>(encode(skipped));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, (SkippedCaptures{full_skipped(), other}));
}

// The bytes of protocol version 1.
TEST(AgentMessages, ASkippedCaptureIsThis) {
  EXPECT_EQ(to_hex(encode(SkippedCaptures{full_skipped()})),
            "523e0a3c0a10222222222222222222222222222222221208333333333333333318022005"
            "2a08636865636b6f75743007" +
                std::string("3a05474554202f410100000000000000"));
}

TEST(AgentMessages, SkippedCapturesAreCutToTheirLimits) {
  SkippedCapture longest = full_skipped();
  longest.service = longest.operation = std::string(5'000, 'n');
  const std::string bytes = encode(SkippedCaptures(1'000, longest));
  EXPECT_LE(bytes.size(), kMostSmallMessageBytes);
  Result<SkippedCaptures> back = read<SkippedCaptures>(bytes);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->size(), kMostSkippedCaptures);
  EXPECT_EQ(back->back().operation, std::string(kMostNameBytes, 'n'));
  v1::AgentMessage many;
  for (size_t i = 0; i < 2 * kMostSkippedCaptures; ++i) {
    many.mutable_skipped_captures()->add_captures()->set_trace_id(std::string(16, 't'));
  }
  EXPECT_EQ(read<SkippedCaptures>(many)->size(), kMostSkippedCaptures);
}

TEST(AgentMessages, ASkippedCaptureHasATraceAndMayHaveAReasonOfLater) {
  v1::AgentMessage message;
  v1::SkippedCapture& one = *message.mutable_skipped_captures()->add_captures();
  EXPECT_FALSE(read<SkippedCaptures>(message).ok()) << "of no trace";
  one.set_trace_id("short");
  EXPECT_FALSE(read<SkippedCaptures>(message).ok());
  one.set_trace_id(std::string(16, 't'));
  one.set_span_id("short");
  EXPECT_FALSE(read<SkippedCaptures>(message).ok());
  one.clear_span_id();
  one.set_reason(static_cast<v1::SkipReason>(200));
  one.set_trigger(static_cast<v1::CaptureTrigger>(200));
  Result<SkippedCaptures> back = read<SkippedCaptures>(message);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->front().reason, SkipReason{});
  EXPECT_EQ(back->front().trigger, CaptureTrigger{});
}

// ---- answers

TEST(AgentMessages, AnAnswerToACaptureRequestComesBack) {
  const CaptureAnswer answer{4, {filled<CaptureId>(1), filled<CaptureId>(2)}, "too often"};
  Result<CaptureAnswer> back = read<CaptureAnswer>(encode(answer));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->request_id, 4u);
  EXPECT_EQ(back->capture_ids, answer.capture_ids);
  EXPECT_EQ(back->skipped, "too often");
  v1::AgentMessage message;
  auto& many = *message.mutable_capture_answer();
  many.set_skipped(std::string(1000, 'w'));
  for (int i = 0; i < 3000; ++i) many.add_capture_ids(std::string(16, 'c'));
  back = read<CaptureAnswer>(message);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->capture_ids.size(), kMostCaptureIds);
  EXPECT_EQ(back->skipped.size(), 256u);
  many.add_capture_ids("short");
  EXPECT_FALSE(read<CaptureAnswer>(message).ok());
}

TEST(AgentMessages, AnAnswerAboutTracepointsComesBack) {
  const TracepointAnswer answer{13, {{7, "checkout", {{"cache.miss", "cache.cc", 3, true}}, true}}, "why"};
  const std::string bytes = encode(answer);
  EXPECT_EQ(peek_tracepoint_answer(bytes.substr(0, 10)), 13u);
  Result<TracepointAnswer> back = read<TracepointAnswer>(bytes);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->request_id, 13u);
  EXPECT_EQ(back->failure, "why");
  EXPECT_FALSE(back->truncated);
  ASSERT_EQ(back->programs.size(), 1u);
  EXPECT_EQ(back->programs[0].pid, 7u);
  EXPECT_EQ(back->programs[0].service, "checkout");
  EXPECT_TRUE(back->programs[0].truncated);
  ASSERT_EQ(back->programs[0].tracepoints.size(), 1u);
  EXPECT_EQ(back->programs[0].tracepoints[0].name, "cache.miss");
  EXPECT_EQ(back->programs[0].tracepoints[0].file, "cache.cc");
  EXPECT_EQ(back->programs[0].tracepoints[0].line, 3u);
  EXPECT_TRUE(back->programs[0].tracepoints[0].on);
}

TEST(AgentMessages, ALongAnswerSaysThatItIsCut) {
  TracepointAnswer listed{.request_id = 5};
  TracepointState state{std::string(300, 'n'), "file.cc", 3, true};
  listed.programs.assign(10, {7, "checkout", std::vector<TracepointState>(1000, state)});
  const std::string bytes = encode(listed);
  EXPECT_LE(bytes.size(), kMostTracepointAnswerBytes);
  Result<TracepointAnswer> back = read<TracepointAnswer>(bytes);
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->truncated);
  ASSERT_GT(back->programs.size(), 1u);
  EXPECT_FALSE(back->programs.front().truncated);
  EXPECT_TRUE(back->programs.back().truncated);
}

TEST(AgentMessages, AnswersAboutTracepointsHaveLimits) {
  v1::AgentMessage message;
  auto& answer = *message.mutable_tracepoint_answer();
  for (int i = 0; i < 1100; ++i) answer.add_programs();
  for (int i = 0; i < 30'000; ++i) answer.mutable_programs(1)->add_tracepoints();
  Result<TracepointAnswer> back = read<TracepointAnswer>(message);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->programs.size(), kMostPrograms);
  EXPECT_TRUE(back->truncated);
  EXPECT_EQ(back->programs[1].tracepoints.size(), kMostTracepoints);
  EXPECT_TRUE(back->programs[1].truncated);
  answer.clear_programs();
  answer.set_failure(std::string((1 << 20) - 4, 'x'));
  ASSERT_EQ(answer.ByteSizeLong(), kMostTracepointAnswerBytes);
  EXPECT_TRUE(read<TracepointAnswer>(message).ok());
  answer.mutable_failure()->push_back('x');
  EXPECT_FALSE(read<TracepointAnswer>(message).ok());
}

}  // namespace
}  // namespace fathom::ingest
