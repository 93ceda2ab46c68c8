#include "collector/agents/capture_messages.h"

#include <algorithm>

#include "collector/agents/message_fields.h"
#include "ingest.pb.h"
#include "proto/ingest_limits.h"

namespace fathom::collector {

namespace {

constexpr size_t kMostCaptureIds = 1024;
constexpr size_t kMostPrograms = 1024;
constexpr size_t kMostTracepoints = 20'000;  // over all programs
constexpr size_t kMostTracepointAnswerBytes = 1 << 20;

bool read_capture_loss(std::string_view message, store::CaptureInfo& info) {
  NamedCount loss;
  if (!read_named_count(message, loss)) return false;
  if (loss.name.empty() || info.losses.size() >= store::kMostCaptureLosses) return true;
  info.losses.push_back({std::move(loss.name), loss.count});
  return true;
}

// One that is not known is none; the store refuses that.
CaptureTrigger trigger_of(uint64_t number) {
  return capture_trigger_of(number).value_or(CaptureTrigger{});
}

bool read_capture_text(const WireField& field, store::CaptureInfo& info) {
  switch (field.tag) {
    case bytes_field(1):
      return read_id(field.bytes, info.id);
    case bytes_field(2):
      return read_optional_id(field.bytes, info.trace_id);
    case bytes_field(3):
      return read_optional_id(field.bytes, info.span_id);
    case bytes_field(5):
      info.service = text_of(field.bytes, kMostNameBytes);
      return true;
    case bytes_field(7):
      info.operation = text_of(field.bytes, kMostNameBytes);
      return true;
    case bytes_field(10):
      return read_clock(field.bytes, info.clock);
    case bytes_field(13):
      return read_capture_loss(field.bytes, info);
    case bytes_field(15):
      return read_optional_id(field.bytes, info.sha256);
    default:
      return true;
  }
}

void read_capture_number(const WireField& field, store::CaptureInfo& info) {
  if (field.tag == varint_field(4)) info.trigger = trigger_of(field.bits);
  if (field.tag == varint_field(6)) info.pid = static_cast<uint32_t>(field.bits);
  if (field.tag == fixed64_field(8)) info.start_unix_nano = field.bits;
  if (field.tag == fixed64_field(9)) info.end_unix_nano = field.bits;
  if (field.tag == varint_field(11)) info.crosses_clock_jump = field.bits != 0;
  if (field.tag == varint_field(12)) info.truncated = field.bits != 0;
  if (field.tag == varint_field(14)) info.size_bytes = field.bits;
}

// By a clock that an agent may say anything of.
uint64_t corrected(uint64_t unix_nano, int64_t offset_nano) {
  auto offset = static_cast<uint64_t>(offset_nano);
  if (offset_nano >= 0) return unix_nano + std::min(offset, UINT64_MAX - unix_nano);
  return unix_nano - std::min(-offset, unix_nano);
}

bool read_tracepoint(std::string_view message, TracepointState& tracepoint) {
  return each_field(message, [&](const WireField& field) {
    if (field.tag == bytes_field(1)) tracepoint.name = text_of(field.bytes);
    if (field.tag == bytes_field(2)) tracepoint.file = text_of(field.bytes);
    if (field.tag == varint_field(3)) tracepoint.line = static_cast<uint32_t>(field.bits);
    if (field.tag == varint_field(4)) tracepoint.on = field.bits != 0;
    return true;
  });
}

// `room` is what the answer may still have in tracepoints.
bool read_program(std::string_view message, ProgramTracepoints& program, size_t& room) {
  return each_field(message, [&](const WireField& field) {
    if (field.tag == varint_field(1)) program.pid = static_cast<uint32_t>(field.bits);
    if (field.tag == bytes_field(2)) program.service = text_of(field.bytes, kMostNameBytes);
    if (field.tag == varint_field(4)) program.truncated |= field.bits != 0;
    if (field.tag != bytes_field(3)) return true;
    if (room == 0) return program.truncated = true;
    --room;
    return read_tracepoint(field.bytes, program.tracepoints.emplace_back());
  });
}

}  // namespace

Result<CaptureBeginMessage> parse_capture_begin(std::string_view fields) {
  CaptureBeginMessage begin;
  store::CaptureInfo& info = begin.info;
  info.trigger = trigger_of(0);
  bool read = each_field(fields, [&](const WireField& field) {
    read_capture_number(field, info);
    return read_capture_text(field, info);
  });
  if (!read || info.id.is_zero()) return invalid("a CaptureBegin is malformed, or has an id of a wrong size");
  if (!info.clock) return begin;
  info.start_unix_nano = corrected(info.start_unix_nano, info.clock->offset_nano);
  info.end_unix_nano = corrected(info.end_unix_nano, info.clock->offset_nano);
  return begin;
}

Result<CapturePartMessage> parse_capture_part(std::string_view fields) {
  CapturePartMessage part;
  bool read = each_field(fields, [&](const WireField& field) {
    if (field.tag == bytes_field(1)) return read_id(field.bytes, part.id);
    if (field.tag == varint_field(2)) part.offset = field.bits;
    if (field.tag == bytes_field(3)) part.content = field.bytes;
    return true;
  });
  if (!read || part.id.is_zero()) return invalid("a CapturePart is malformed, or its id is not of 16 bytes");
  if (part.content.empty() || part.content.size() > ingest::kMostCapturePartBytes) {
    return invalid("a CapturePart has between 1 byte and 1 MiB of content");
  }
  return part;
}

Result<CaptureAnswer> parse_capture_answer(std::string_view fields) {
  CaptureAnswer answer;
  bool read = each_field(fields, [&](const WireField& field) {
    if (field.tag == varint_field(1)) answer.request_id = field.bits;
    if (field.tag == bytes_field(3)) answer.skipped = text_of(field.bytes);
    if (field.tag != bytes_field(2)) return true;
    store::CaptureId id;
    if (!read_id(field.bytes, id)) return false;
    if (answer.capture_ids.size() < kMostCaptureIds) answer.capture_ids.push_back(id);
    return true;
  });
  if (!read) return invalid("a CaptureAnswer is malformed, or has an id of a wrong size");
  return answer;
}

Result<TracepointAnswer> parse_tracepoint_answer(std::string_view fields) {
  if (fields.size() > kMostTracepointAnswerBytes) return invalid("a TracepointAnswer has 1 MiB at most");
  TracepointAnswer answer;
  size_t room = kMostTracepoints;
  bool read = each_field(fields, [&](const WireField& field) {
    if (field.tag == varint_field(1)) answer.request_id = field.bits;
    if (field.tag == bytes_field(3)) answer.failure = text_of(field.bytes);
    if (field.tag == varint_field(4)) answer.truncated |= field.bits != 0;
    if (field.tag != bytes_field(2)) return true;
    if (answer.programs.size() >= kMostPrograms) return answer.truncated = true;
    return read_program(field.bytes, answer.programs.emplace_back(), room);
  });
  if (!read) return invalid("a TracepointAnswer is malformed");
  return answer;
}

std::optional<store::CaptureId> peek_capture_part(std::string_view begin) {
  ByteReader in(begin);
  if (in.varint() != bytes_field(6)) return std::nullopt;
  in.varint();  // the part's size, most of which is not here
  if (in.varint() != bytes_field(1) || in.varint() != store::CaptureId{}.bytes.size()) return std::nullopt;
  return in.failed() ? std::nullopt : store::CaptureId::from_bytes(in.raw(store::CaptureId{}.bytes.size()));
}

std::optional<uint64_t> peek_tracepoint_answer(std::string_view begin) {
  ByteReader in(begin);
  if (in.varint() != bytes_field(8)) return std::nullopt;
  in.varint();
  if (in.varint() != varint_field(1)) return std::nullopt;
  uint64_t request = in.varint();
  return in.failed() ? std::nullopt : std::optional(request);
}

std::string capture_progress_message(const CaptureProgressMessage& progress) {
  using Wire = fathom::ingest::v1::CaptureProgress;
  fathom::ingest::v1::CollectorMessage message;
  Wire& out = *message.mutable_capture_progress();
  constexpr Wire::State kStates[kCaptureStates] = {Wire::TAKEN, Wire::DURABLE, Wire::RETRY, Wire::REFUSED};
  out.set_capture_id(std::string(progress.id.view()));
  out.set_state(kStates[static_cast<size_t>(progress.state)]);
  out.set_taken_bytes(progress.taken_bytes);
  out.set_retry_after_nano(progress.retry_after_nano);
  out.set_message(text_of(progress.message));
  return message.SerializeAsString();
}

}  // namespace fathom::collector
