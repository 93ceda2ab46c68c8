#include "collector/agents/capture_messages.h"

#include <gtest/gtest.h>

#include "collector/agents/messages.h"
#include "collector/testing/agent_peer.h"
#include "proto/ingest_limits.h"

namespace fathom::collector {
namespace {

namespace wire = fathom::ingest::v1;

wire::AgentMessage full_begin() {
  wire::AgentMessage message;
  auto& begin = *message.mutable_capture_begin();
  begin.set_capture_id(std::string(16, 'c'));
  begin.set_trace_id(std::string(16, 't'));
  begin.set_span_id(std::string(8, 's'));
  begin.set_trigger(3);
  begin.set_service("checkout");
  begin.set_pid(7);
  begin.set_operation("GET /");
  begin.set_start_unix_nano(1000);
  begin.set_end_unix_nano(3000);
  begin.mutable_clock()->set_offset_nano(-200);
  begin.mutable_clock()->set_error_nano(9);
  begin.set_crosses_clock_jump(true);
  begin.set_truncated(true);
  begin.add_losses()->set_reason("overwritten");
  begin.mutable_losses(0)->set_count(5);
  begin.set_size_bytes(77);
  begin.set_sha256(std::string(32, 'h'));
  return message;
}

template <typename Message>
Result<Message> read(const wire::AgentMessage& message) {
  Result<AgentMessage> parsed = parse_agent_message(message.SerializeAsString());
  if (!parsed) return parsed.error();
  Message* read = std::get_if<Message>(&*parsed);
  if (read == nullptr) return invalid("another kind of message");
  return std::move(*read);
}

TEST(CaptureMessages, ABeginIsACapturesHeader) {
  Result<CaptureBeginMessage> begin = read<CaptureBeginMessage>(full_begin());
  ASSERT_TRUE(begin.ok()) << begin.error().message;
  const store::CaptureInfo& info = begin->info;
  EXPECT_EQ(info.id.view(), std::string(16, 'c'));
  EXPECT_EQ(info.trace_id.view(), std::string(16, 't'));
  EXPECT_EQ(info.span_id.view(), std::string(8, 's'));
  EXPECT_EQ(info.trigger, CaptureTrigger::kError);
  EXPECT_EQ(info.service, "checkout");
  EXPECT_EQ(info.pid, 7u);
  EXPECT_EQ(info.operation, "GET /");
  EXPECT_EQ(info.start_unix_nano, 800u) << "the collector's time";
  EXPECT_EQ(info.end_unix_nano, 2800u);
  EXPECT_EQ(info.clock, (store::ClockOffset{-200, 9}));
  EXPECT_TRUE(info.crosses_clock_jump);
  EXPECT_TRUE(info.truncated);
  EXPECT_EQ(info.losses, (std::vector<store::CaptureLoss>{{"overwritten", 5}}));
  EXPECT_EQ(info.size_bytes, 77u);
  EXPECT_EQ(info.sha256.view(), std::string(32, 'h'));
  EXPECT_TRUE(info.node_id.is_zero()) << "the stream's";
  EXPECT_TRUE(store::check(info).ok());
}

TEST(CaptureMessages, WithoutAClockTimesAreAsTheyCame) {
  wire::AgentMessage message = full_begin();
  message.mutable_capture_begin()->clear_clock();
  Result<CaptureBeginMessage> begin = read<CaptureBeginMessage>(message);
  ASSERT_TRUE(begin.ok());
  EXPECT_EQ(begin->info.start_unix_nano, 1000u);
  EXPECT_FALSE(begin->info.clock);
}

TEST(CaptureMessages, NoOffsetLeadsBeyondTime) {
  for (int64_t offset : {INT64_MIN, INT64_MIN + 1, INT64_MAX}) {
    wire::AgentMessage message = full_begin();
    message.mutable_capture_begin()->set_end_unix_nano(UINT64_MAX - 1);
    message.mutable_capture_begin()->mutable_clock()->set_offset_nano(offset);
    Result<CaptureBeginMessage> begin = read<CaptureBeginMessage>(message);
    ASSERT_TRUE(begin.ok());
    EXPECT_LE(begin->info.start_unix_nano, begin->info.end_unix_nano) << offset;
    EXPECT_EQ(begin->info.start_unix_nano == 0, offset < 0);
    EXPECT_EQ(begin->info.end_unix_nano == UINT64_MAX, offset > 0);
  }
}

TEST(CaptureMessages, TextsAndListsHaveLimits) {
  wire::AgentMessage message = full_begin();
  auto& begin = *message.mutable_capture_begin();
  for (int i = 0; i < 200; ++i) begin.add_losses()->set_reason(i % 2 == 0 ? "" : std::string(1000, 'r'));
  begin.set_service("\xff" + std::string(5000, 's'));
  begin.set_operation(std::string(5000, 'o'));
  Result<CaptureBeginMessage> read_back = read<CaptureBeginMessage>(message);
  ASSERT_TRUE(read_back.ok());
  EXPECT_EQ(read_back->info.operation.size(), 1024u);
  EXPECT_EQ(read_back->info.losses.size(), store::kMostCaptureLosses);
  EXPECT_EQ(read_back->info.losses[1].name.size(), 256u);
  EXPECT_TRUE(store::check(read_back->info).ok()) << store::check(read_back->info).error().message;
}

TEST(CaptureMessages, ATriggerOfLaterIsTheStoresToRefuse) {
  for (uint32_t trigger : {0u, 8u, 256u + 3u}) {
    wire::AgentMessage message = full_begin();
    message.mutable_capture_begin()->set_trigger(trigger);
    Result<CaptureBeginMessage> begin = read<CaptureBeginMessage>(message);
    ASSERT_TRUE(begin.ok());
    EXPECT_FALSE(store::check(begin->info).ok()) << trigger;
  }
}

TEST(CaptureMessages, IdsOfAWrongSizeAreNoMessage) {
  auto with = [](auto change) {
    wire::AgentMessage message = full_begin();
    change(*message.mutable_capture_begin());
    return read<CaptureBeginMessage>(message).ok();
  };
  EXPECT_FALSE(with([](auto& begin) { begin.clear_capture_id(); }));
  EXPECT_FALSE(with([](auto& begin) { begin.set_capture_id(std::string(16, '\0')); }));
  EXPECT_FALSE(with([](auto& begin) { begin.set_trace_id("short"); }));
  EXPECT_FALSE(with([](auto& begin) { begin.set_span_id(std::string(16, 's')); }));
  EXPECT_FALSE(with([](auto& begin) { begin.set_sha256(std::string(31, 's')); }));
  EXPECT_TRUE(with([](auto& begin) { begin.clear_trace_id(), begin.clear_span_id(), begin.clear_sha256(); }));
}

wire::AgentMessage part(size_t size) {
  wire::AgentMessage message;
  message.mutable_capture_part()->set_capture_id(std::string(16, 'c'));
  message.mutable_capture_part()->set_offset(300);
  message.mutable_capture_part()->set_content(std::string(size, 'x'));
  return message;
}

TEST(CaptureMessages, PartsHaveContentWithinLimits) {
  std::string bytes = part(1000).SerializeAsString();
  Result<AgentMessage> parsed = parse_agent_message(bytes);
  ASSERT_TRUE(parsed.ok());
  auto& read_back = std::get<CapturePartMessage>(*parsed);
  EXPECT_EQ(read_back.offset, 300u);
  EXPECT_EQ(read_back.content, std::string(1000, 'x'));
  EXPECT_EQ(peek_capture_part(bytes.substr(0, 30)), read_back.id);
  EXPECT_FALSE(peek_capture_part(bytes.substr(0, 15)));
  EXPECT_FALSE(read<CapturePartMessage>(part(0)).ok());
  EXPECT_TRUE(read<CapturePartMessage>(part(ingest::kMostCapturePartBytes)).ok());
  EXPECT_FALSE(read<CapturePartMessage>(part(ingest::kMostCapturePartBytes + 1)).ok());
}

TEST(CaptureMessages, AnswersToCaptureRequests) {
  wire::AgentMessage message;
  auto& answer = *message.mutable_capture_answer();
  answer.set_request_id(12);
  answer.set_skipped(std::string(1000, 'w'));
  for (int i = 0; i < 3000; ++i) answer.add_capture_ids(std::string(16, 'c'));
  Result<CaptureAnswer> read_back = read<CaptureAnswer>(message);
  ASSERT_TRUE(read_back.ok());
  EXPECT_EQ(read_back->request_id, 12u);
  EXPECT_EQ(read_back->capture_ids.size(), 1024u);
  EXPECT_EQ(read_back->skipped.size(), 256u);
  answer.add_capture_ids("short");
  EXPECT_FALSE(read<CaptureAnswer>(message).ok());
}

TEST(CaptureMessages, AnswersToTracepointRequests) {
  wire::AgentMessage message;
  auto& answer = *message.mutable_tracepoint_answer();
  answer.set_request_id(13);
  answer.set_failure("why");
  auto& program = *answer.add_programs();
  program.set_pid(3);
  program.set_service("checkout");
  program.set_truncated(true);
  auto& tracepoint = *program.add_tracepoints();
  tracepoint.set_name("cache.miss");
  tracepoint.set_file("cache.cc");
  tracepoint.set_line(9);
  tracepoint.set_on(true);
  EXPECT_EQ(peek_tracepoint_answer(message.SerializeAsString().substr(0, 10)), 13u);
  Result<TracepointAnswer> read_back = read<TracepointAnswer>(message);
  ASSERT_TRUE(read_back.ok());
  EXPECT_EQ(read_back->request_id, 13u);
  EXPECT_EQ(read_back->failure, "why");
  EXPECT_FALSE(read_back->truncated);
  ASSERT_EQ(read_back->programs.size(), 1u);
  EXPECT_EQ(read_back->programs[0].pid, 3u);
  EXPECT_EQ(read_back->programs[0].service, "checkout");
  EXPECT_TRUE(read_back->programs[0].truncated);
  ASSERT_EQ(read_back->programs[0].tracepoints.size(), 1u);
  EXPECT_EQ(read_back->programs[0].tracepoints[0].name, "cache.miss");
  EXPECT_EQ(read_back->programs[0].tracepoints[0].file, "cache.cc");
  EXPECT_EQ(read_back->programs[0].tracepoints[0].line, 9u);
  EXPECT_TRUE(read_back->programs[0].tracepoints[0].on);
}

TEST(CaptureMessages, AnswersToTracepointRequestsHaveLimits) {
  wire::AgentMessage message;
  for (int i = 0; i < 1100; ++i) message.mutable_tracepoint_answer()->add_programs();
  for (int i = 0; i < 30'000; ++i) message.mutable_tracepoint_answer()->mutable_programs(1)->add_tracepoints();
  Result<TracepointAnswer> read_back = read<TracepointAnswer>(message);
  ASSERT_TRUE(read_back.ok());
  EXPECT_EQ(read_back->programs.size(), 1024u);
  EXPECT_TRUE(read_back->truncated);
  EXPECT_EQ(read_back->programs[1].tracepoints.size(), 20'000u);
  EXPECT_TRUE(read_back->programs[1].truncated);
}

TEST(CaptureMessages, AnAnswerToATracepointRequestThatIsTooLongIsNone) {
  wire::AgentMessage message;
  auto& answer = *message.mutable_tracepoint_answer();
  answer.set_failure(std::string((1 << 20) - 4, 'x'));
  ASSERT_EQ(answer.ByteSizeLong(), 1u << 20);
  EXPECT_TRUE(read<TracepointAnswer>(message).ok());
  answer.mutable_failure()->push_back('x');
  EXPECT_FALSE(read<TracepointAnswer>(message).ok());
}

wire::CollectorMessage sent(const std::string& bytes) {
  wire::CollectorMessage message;
  EXPECT_TRUE(message.ParseFromString(bytes));
  return message;
}

TEST(CaptureMessages, ProgressIsSaid) {
  CaptureProgressMessage progress{
      .state = CaptureProgressMessage::State::kRetry, .taken_bytes = 5, .retry_after_nano = 6, .message = "full"};
  progress.id.bytes.fill('c');
  auto said = sent(capture_progress_message(progress)).capture_progress();
  EXPECT_EQ(said.capture_id(), std::string(16, 'c'));
  EXPECT_EQ(said.state(), wire::CaptureProgress::RETRY);
  EXPECT_EQ(said.taken_bytes(), 5u);
  EXPECT_EQ(said.retry_after_nano(), 6u);
  EXPECT_EQ(said.message(), "full");
}

TEST(CaptureMessages, ThresholdsComeInMessagesThatAgentsTake) {
  std::vector<OperationThreshold> operations(25'000, {"ns", "service", "operation", 2, 99});
  auto messages = thresholds_messages(operations, true);
  ASSERT_EQ(messages.size(), 3u);
  int total = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    auto said = sent(messages[i]).thresholds();
    EXPECT_EQ(said.replaces(), i == 0);
    EXPECT_LE(said.operations_size(), static_cast<int>(ingest::kMostThresholds));
    total += said.operations_size();
  }
  EXPECT_EQ(total, 25'000);
  auto one = sent(messages[0]).thresholds().operations(0);
  EXPECT_EQ(one.service_namespace(), "ns");
  EXPECT_EQ(one.service(), "service");
  EXPECT_EQ(one.operation(), "operation");
  EXPECT_EQ(one.kind(), 2u);
  EXPECT_EQ(one.threshold_nano(), 99u);
  operations.assign(5000, {"ns", "service", std::string(1000, 'o'), 2, 99});
  for (const std::string& message : thresholds_messages(operations, false)) {
    EXPECT_LE(message.size(), ingest::kMostThresholdBytes);
  }
  auto none = thresholds_messages({}, true);
  ASSERT_EQ(none.size(), 1u);
  EXPECT_TRUE(sent(none[0]).thresholds().replaces()) << "there are none any more";
}

TEST(CaptureMessages, RequestsAreSaid) {
  CaptureRequest request{.request_id = 5,
                         .trigger = CaptureTrigger::kRemote,
                         .pid = 6,
                         .service = "s\xff",
                         .start_unix_nano = 7,
                         .end_unix_nano = 8,
                         .duration_nano = 9,
                         .reason = "because"};
  request.trace_id.bytes.fill('t');
  request.node_id.emplace().bytes.fill('n');
  auto said = sent(capture_request_message(request)).capture_request();
  EXPECT_EQ(said.request_id(), 5u);
  EXPECT_EQ(said.trigger(), 7u);
  EXPECT_EQ(said.trace_id(), std::string(16, 't'));
  EXPECT_EQ(said.pid(), 6u);
  EXPECT_EQ(said.service(), "s\xef\xbf\xbd") << "or the agent could not read the message";
  EXPECT_EQ(said.node_id(), std::string(16, 'n'));
  EXPECT_EQ(said.start_unix_nano(), 7u);
  EXPECT_EQ(said.end_unix_nano(), 8u);
  EXPECT_EQ(said.duration_nano(), 9u);
  EXPECT_EQ(said.reason(), "because");
  TracepointRequest switches{.request_id = 5,
                             .action = TracepointRequest::Action::kDisable,
                             .patterns = {"a*", "b"},
                             .pid = 3,
                             .service = "s"};
  auto asked = sent(tracepoint_request_message(switches)).tracepoint_request();
  EXPECT_EQ(asked.request_id(), 5u);
  EXPECT_EQ(asked.action(), wire::TracepointRequest::DISABLE);
  ASSERT_EQ(asked.patterns_size(), 2);
  EXPECT_EQ(asked.patterns(0), "a*");
  EXPECT_EQ(asked.pid(), 3u);
  EXPECT_EQ(asked.service(), "s");
  EXPECT_TRUE(asked.node_id().empty());
}

}  // namespace
}  // namespace fathom::collector
