// The reading of agents' messages; agent_messages.cc makes them.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "ingest.pb.h"
#include "ingest/agent_messages.h"
#include "ingest/fields.h"
#include "ingest/limits.h"

namespace fathom::ingest {

namespace {

std::optional<ClockOffset> read_clock(const auto& message) {
  if (!message.has_clock()) return std::nullopt;
  return ClockOffset{message.clock().offset_nano(), message.clock().error_nano()};
}

Losses read_losses(const auto& message) {
  Losses losses;
  for (const v1::Loss& loss : message.losses()) {
    if (losses.size() == kMostLosses) break;
    losses.emplace_back(text_of(loss.reason()), loss.count());
  }
  return losses;
}

Result<AgentMessage> read(const v1::Hello& message) {
  Hello hello{.protocol_version = message.protocol_version(),
              .host_name = text_of(message.host_name()),
              .agent_version = text_of(message.agent_version()),
              .takes_requests = message.takes_requests(),
              .captures_off = message.captures_off(),
              .reports_skipped_captures = message.reports_skipped_captures(),
              .slowest_period_nano = message.slowest_period_nano(),
              .takes_redaction_rules = message.takes_redaction_rules()};
  bool ids = read_id(message.node_id(), hello.node_id) && read_id(message.instance_id(), hello.instance_id) &&
             read_optional_id(message.node_key(), hello.node_key);
  if (!ids || hello.node_id.is_zero() || hello.instance_id.is_zero()) {
    return invalid("a Hello has a node id and an instance id of 16 bytes, not all of them zero");
  }
  if (hello.protocol_version == 0) return invalid("a Hello says which version of the protocol it speaks");
  return AgentMessage(std::move(hello));
}

Result<AgentMessage> read(const v1::ClockProbe& probe) {
  return AgentMessage(ClockProbe{probe.sent_unix_nano()});
}

Result<AgentMessage> read(const v1::NodeStatus& message) {
  return AgentMessage(NodeStatus{.programs = message.programs(),
                                 .clock = read_clock(message),
                                 .clock_measured_unix_nano = message.clock_measured_unix_nano(),
                                 .spool_bytes = message.spool_bytes(),
                                 .spool_limit_bytes = message.spool_limit_bytes(),
                                 .acknowledged_spans = message.acknowledged_spans(),
                                 .resident_bytes = message.resident_bytes(),
                                 .losses = read_losses(message)});
}

// Maps an unknown trigger to 0, which the store rejects.
CaptureTrigger read_trigger(v1::CaptureTrigger trigger) {
  return capture_trigger_of(static_cast<uint64_t>(trigger)).value_or(CaptureTrigger{});
}

Result<AgentMessage> read(const v1::CaptureBegin& message) {
  CaptureBegin begin{.trigger = read_trigger(message.trigger()),
                     .service = name_text_of(message.service()),
                     .pid = message.pid(),
                     .operation = name_text_of(message.operation()),
                     .start_unix_nano = message.start_unix_nano(),
                     .end_unix_nano = message.end_unix_nano(),
                     .clock = read_clock(message),
                     .crosses_clock_jump = message.crosses_clock_jump(),
                     .truncated = message.truncated(),
                     .losses = read_losses(message),
                     .size_bytes = message.size_bytes(),
                     .content_is_stored = message.content_is_stored(),
                     .redaction_fingerprint = message.redaction_fingerprint().substr(0, kMostFingerprintBytes)};
  bool ids = read_id(message.capture_id(), begin.id) && read_optional_id(message.trace_id(), begin.trace_id) &&
             read_optional_id(message.span_id(), begin.span_id) && read_optional_id(message.sha256(), begin.sha256);
  if (!ids || begin.id.is_zero()) return invalid("a CaptureBegin has an id of a wrong size");
  return AgentMessage(std::move(begin));
}

Result<AgentMessage> read(const v1::SlowTrace& message) {
  SlowTrace trace{.operation = name_text_of(message.operation()),
                  .hold_nano = message.hold_nano(),
                  .start_unix_nano = message.start_unix_nano(),
                  .end_unix_nano = message.end_unix_nano(),
                  .clock = read_clock(message)};
  if (!read_id(message.trace_id(), trace.trace_id) || trace.trace_id.is_zero()) {
    return invalid("a SlowTrace has a trace id of 16 bytes, not all of them zero");
  }
  return AgentMessage(std::move(trace));
}

// False: an id has a wrong size.
bool read(const v1::SkippedCapture& message, SkippedCapture& skipped) {
  skipped.trigger = read_trigger(message.trigger());
  skipped.reason = skip_reason_of(static_cast<uint64_t>(message.reason())).value_or(SkipReason{});
  skipped.service = name_text_of(message.service());
  skipped.pid = message.pid();
  skipped.operation = name_text_of(message.operation());
  skipped.skipped_unix_nano = message.skipped_unix_nano();
  const bool ids =
      read_id(message.trace_id(), skipped.trace_id) && read_optional_id(message.span_id(), skipped.span_id);
  return ids && !skipped.trace_id.is_zero();
}

Result<AgentMessage> read(const v1::SkippedCaptures& message) {
  SkippedCaptures skipped;
  for (const v1::SkippedCapture& one : message.captures()) {
    if (skipped.size() == kMostSkippedCaptures) break;
    if (!read(one, skipped.emplace_back())) return invalid("a SkippedCapture has an id of a wrong size");
  }
  return AgentMessage(std::move(skipped));
}

Result<AgentMessage> read(const v1::CaptureAnswer& message) {
  CaptureAnswer answer{.request_id = message.request_id(), .skipped = text_of(message.skipped())};
  for (const std::string& raw : message.capture_ids()) {
    CaptureId id;
    if (!read_id(raw, id)) return invalid("a CaptureAnswer has an id of a wrong size");
    if (answer.capture_ids.size() < kMostCaptureIds) answer.capture_ids.push_back(id);
  }
  return AgentMessage(std::move(answer));
}

bool read_clock(std::string_view message, std::optional<ClockOffset>& clock) {
  using Field = v1::ClockOffset;
  clock.emplace();
  return each_field(message, [&](const WireField& field) {
    if (field.tag == varint_field(Field::kOffsetNanoFieldNumber)) clock->offset_nano = unzigzag(field.bits);
    if (field.tag == varint_field(Field::kErrorNanoFieldNumber)) clock->error_nano = field.bits;
    return true;
  });
}

// Read in place: it may be megabytes.
Result<AgentMessage> parse_batch(std::string_view fields) {
  using Field = v1::Batch;
  Batch batch;
  bool has_identity = false;
  bool read = each_field(fields, [&](const WireField& field) {
    if (field.tag == varint_field(Field::kSequenceFieldNumber)) batch.sequence = field.bits;
    if (field.tag == bytes_field(Field::kIdentityFieldNumber)) {
      return has_identity = read_id(field.bytes, batch.identity);
    }
    if (field.tag == bytes_field(Field::kClockFieldNumber)) return read_clock(field.bytes, batch.clock);
    if (field.tag == bytes_field(Field::kOtlpFieldNumber)) batch.otlp = field.bytes;
    return true;
  });
  if (!read || !has_identity) return invalid("a Batch is malformed, or its identity is not of 16 bytes");
  return AgentMessage(batch);
}

Result<AgentMessage> parse_capture_part(std::string_view fields) {
  using Field = v1::CapturePart;
  CapturePart part;
  bool read = each_field(fields, [&](const WireField& field) {
    if (field.tag == bytes_field(Field::kCaptureIdFieldNumber)) return read_id(field.bytes, part.id);
    if (field.tag == varint_field(Field::kOffsetFieldNumber)) part.offset = field.bits;
    if (field.tag == bytes_field(Field::kContentFieldNumber)) part.content = field.bytes;
    return true;
  });
  if (!read || part.id.is_zero()) return invalid("a CapturePart is malformed, or its id is not of 16 bytes");
  if (part.content.empty() || part.content.size() > kMostCapturePartBytes) {
    return invalid("a CapturePart has between 1 byte and 1 MiB of content");
  }
  return AgentMessage(part);
}

bool read_tracepoint(std::string_view message, TracepointState& tracepoint) {
  using Field = v1::TracepointAnswer::Tracepoint;
  return each_field(message, [&](const WireField& field) {
    if (field.tag == bytes_field(Field::kNameFieldNumber)) tracepoint.name = text_of(field.bytes);
    if (field.tag == bytes_field(Field::kFileFieldNumber)) tracepoint.file = text_of(field.bytes);
    if (field.tag == varint_field(Field::kLineFieldNumber)) tracepoint.line = static_cast<uint32_t>(field.bits);
    if (field.tag == varint_field(Field::kOnFieldNumber)) tracepoint.on = field.bits != 0;
    return true;
  });
}

// `room` is what the answer may still have in tracepoints.
bool read_program(std::string_view message, ProgramTracepoints& program, size_t& room) {
  using Field = v1::TracepointAnswer::Program;
  return each_field(message, [&](const WireField& field) {
    if (field.tag == varint_field(Field::kPidFieldNumber)) program.pid = static_cast<uint32_t>(field.bits);
    if (field.tag == bytes_field(Field::kServiceFieldNumber)) program.service = name_text_of(field.bytes);
    if (field.tag == varint_field(Field::kTruncatedFieldNumber)) program.truncated |= field.bits != 0;
    if (field.tag != bytes_field(Field::kTracepointsFieldNumber)) return true;
    if (room == 0) return program.truncated = true;
    --room;
    return read_tracepoint(field.bytes, program.tracepoints.emplace_back());
  });
}

// Read in place: of a mebibyte that is nothing but empty entries, the generated classes would make fifty.
Result<AgentMessage> parse_tracepoint_answer(std::string_view fields) {
  using Field = v1::TracepointAnswer;
  if (fields.size() > kMostTracepointAnswerBytes) return invalid("a TracepointAnswer has 1 MiB at most");
  TracepointAnswer answer;
  size_t room = kMostTracepoints;
  bool read = each_field(fields, [&](const WireField& field) {
    if (field.tag == varint_field(Field::kRequestIdFieldNumber)) answer.request_id = field.bits;
    if (field.tag == bytes_field(Field::kFailureFieldNumber)) answer.failure = text_of(field.bytes);
    if (field.tag == varint_field(Field::kTruncatedFieldNumber)) answer.truncated |= field.bits != 0;
    if (field.tag != bytes_field(Field::kProgramsFieldNumber)) return true;
    if (answer.programs.size() >= kMostPrograms) return answer.truncated = true;
    return read_program(field.bytes, answer.programs.emplace_back(), room);
  });
  if (!read) return invalid("a TracepointAnswer is malformed");
  return AgentMessage(std::move(answer));
}

template <typename Message>
Result<AgentMessage> parse_small(std::string_view fields) {
  Message message;
  if (fields.size() > kMostSmallMessageBytes ||
      !message.ParseFromArray(fields.data(), static_cast<int>(fields.size()))) {
    return invalid("a " + Message::descriptor()->name() + " is malformed, or has more than 64 KiB");
  }
  return read(message);
}

// A kind of later is not looked into: agents may be newer than collectors.
Result<AgentMessage> parse_kind(const WireField& field) {
  using Kind = v1::AgentMessage;
  switch (field.tag) {
    case bytes_field(Kind::kHello):
      return parse_small<v1::Hello>(field.bytes);
    case bytes_field(Kind::kBatch):
      return parse_batch(field.bytes);
    case bytes_field(Kind::kProbe):
      return parse_small<v1::ClockProbe>(field.bytes);
    case bytes_field(Kind::kStatus):
      return parse_small<v1::NodeStatus>(field.bytes);
    case bytes_field(Kind::kCaptureBegin):
      return parse_small<v1::CaptureBegin>(field.bytes);
    case bytes_field(Kind::kCapturePart):
      return parse_capture_part(field.bytes);
    case bytes_field(Kind::kCaptureAnswer):
      return parse_small<v1::CaptureAnswer>(field.bytes);
    case bytes_field(Kind::kTracepointAnswer):
      return parse_tracepoint_answer(field.bytes);
    case bytes_field(Kind::kSlowTrace):
      return parse_small<v1::SlowTrace>(field.bytes);
    case bytes_field(Kind::kSkippedCaptures):
      return parse_small<v1::SkippedCaptures>(field.bytes);
    default:
      return AgentMessage(UnknownMessage());
  }
}

// The number that comes first in a message of this kind.
std::optional<uint64_t> peek_number(std::string_view begin, v1::AgentMessage::MessageCase kind) {
  ByteReader in(begin);
  if (in.varint() != bytes_field(kind)) return std::nullopt;
  in.varint();  // the message's size, most of which is not here
  if (in.varint() != varint_field(1)) return std::nullopt;
  uint64_t number = in.varint();
  return in.failed() ? std::nullopt : std::optional(number);
}

}  // namespace

// One kind of message per message, as every sender of ours has it; of several, none would be the right one.
Result<AgentMessage> parse_agent_message(std::string_view message) {
  WireReader reader(message);
  WireField field;
  if (!reader.next(field)) {
    if (reader.failed()) return invalid("the message is no protobuf");
    return AgentMessage(UnknownMessage());
  }
  if (!reader.rest().empty()) return invalid("the message holds more than one thing");
  return parse_kind(field);
}

std::optional<uint64_t> peek_batch(std::string_view begin) {
  static_assert(v1::Batch::kSequenceFieldNumber == 1);
  return peek_number(begin, v1::AgentMessage::kBatch);
}

std::optional<uint64_t> peek_tracepoint_answer(std::string_view begin) {
  static_assert(v1::TracepointAnswer::kRequestIdFieldNumber == 1);
  return peek_number(begin, v1::AgentMessage::kTracepointAnswer);
}

std::optional<CaptureId> peek_capture_part(std::string_view begin) {
  ByteReader in(begin);
  if (in.varint() != bytes_field(v1::AgentMessage::kCapturePart)) return std::nullopt;
  in.varint();  // the part's size, most of which is not here
  if (in.varint() != bytes_field(v1::CapturePart::kCaptureIdFieldNumber)) return std::nullopt;
  std::string_view id = in.string();
  return in.failed() ? std::nullopt : CaptureId::from_bytes(id);
}

}  // namespace fathom::ingest
