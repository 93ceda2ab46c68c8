#include "ingest/agent_messages.h"

#include <algorithm>

#include "base/protobuf_writer.h"
#include "ingest.pb.h"
#include "ingest/fields.h"
#include "ingest/limits.h"

namespace fathom::ingest {

namespace {

// ingest.proto and base/ have the same triggers and reasons; agent_messages_test.cc compares their names.
static_assert(v1::CaptureTrigger_ARRAYSIZE == kCaptureTriggerNames.size() + 1);
static_assert(v1::SkipReason_ARRAYSIZE == kSkipReasonNames.size() + 1);

void write_clock(const std::optional<ClockOffset>& clock, auto& out) {
  if (!clock) return;
  out.mutable_clock()->set_offset_nano(clock->offset_nano);
  out.mutable_clock()->set_error_nano(clock->error_nano);
}

void write_losses(const Losses& losses, auto& out) {
  for (size_t i = 0; i < std::min(losses.size(), kMostLosses); ++i) {
    v1::Loss& loss = *out.add_losses();
    loss.set_reason(text_of(losses[i].first));
    loss.set_count(losses[i].second);
  }
}

// Takes what an answer's parts need, roughly; false when there is no more.
class AnswerRoom {
 public:
  bool take(size_t bytes) {
    constexpr size_t kTagsAndNumbers = 32;
    if (bytes + kTagsAndNumbers > left_) return false;
    left_ -= bytes + kTagsAndNumbers;
    return true;
  }

 private:
  size_t left_ = kMostTracepointAnswerBytes;
};

// False: not all of it.
bool write_tracepoints(const ProgramTracepoints& program, v1::TracepointAnswer::Program& out, AnswerRoom& room) {
  for (const TracepointState& tracepoint : program.tracepoints) {
    std::string name = text_of(tracepoint.name), file = text_of(tracepoint.file);
    if (!room.take(name.size() + file.size())) return false;
    v1::TracepointAnswer::Tracepoint& one = *out.add_tracepoints();
    one.set_name(std::move(name));
    one.set_file(std::move(file));
    one.set_line(tracepoint.line);
    one.set_on(tracepoint.on);
  }
  return true;
}

bool write_program(const ProgramTracepoints& program, v1::TracepointAnswer& answer, AnswerRoom& room) {
  std::string service = name_text_of(program.service);
  if (!room.take(service.size())) return false;
  v1::TracepointAnswer::Program& out = *answer.add_programs();
  out.set_pid(program.pid);
  out.set_service(std::move(service));
  bool all = write_tracepoints(program, out, room);
  out.set_truncated(program.truncated || !all);
  return all;
}

// The fields of a message whose last one has `bytes_behind` bytes that are still to come.
std::string head_of(v1::AgentMessage::MessageCase kind, const std::string& fields, uint64_t bytes_behind) {
  std::string head;
  WireAppender(head).length(kind, fields.size() + bytes_behind).raw(fields);
  return head;
}

}  // namespace

std::string encode(const Hello& hello) {
  v1::AgentMessage message;
  v1::Hello& out = *message.mutable_hello();
  out.set_protocol_version(hello.protocol_version);
  out.set_node_id(bytes_of(hello.node_id));
  out.set_instance_id(bytes_of(hello.instance_id));
  out.set_host_name(text_of(hello.host_name));
  out.set_agent_version(text_of(hello.agent_version));
  out.set_takes_requests(hello.takes_requests);
  out.set_captures_off(hello.captures_off);
  out.set_reports_skipped_captures(hello.reports_skipped_captures);
  out.set_slowest_period_nano(hello.slowest_period_nano);
  if (!hello.node_key.is_zero()) out.set_node_key(bytes_of(hello.node_key));
  out.set_takes_redaction_rules(hello.takes_redaction_rules);
  return message.SerializeAsString();
}

std::string encode(const ClockProbe& probe) {
  v1::AgentMessage message;
  message.mutable_probe()->set_sent_unix_nano(probe.sent_unix_nano);
  return message.SerializeAsString();
}

std::string encode(const NodeStatus& status) {
  v1::AgentMessage message;
  v1::NodeStatus& out = *message.mutable_status();
  out.set_programs(status.programs);
  write_clock(status.clock, out);
  out.set_clock_measured_unix_nano(status.clock_measured_unix_nano);
  out.set_spool_bytes(status.spool_bytes);
  out.set_spool_limit_bytes(status.spool_limit_bytes);
  out.set_acknowledged_spans(status.acknowledged_spans);
  out.set_resident_bytes(status.resident_bytes);
  write_losses(status.losses, out);
  return message.SerializeAsString();
}

std::string encode(const CaptureBegin& begin) {
  v1::AgentMessage message;
  v1::CaptureBegin& out = *message.mutable_capture_begin();
  out.set_capture_id(bytes_of(begin.id));
  out.set_trace_id(optional_bytes_of(begin.trace_id));
  out.set_span_id(optional_bytes_of(begin.span_id));
  out.set_trigger(static_cast<v1::CaptureTrigger>(begin.trigger));
  out.set_service(name_text_of(begin.service));
  out.set_pid(begin.pid);
  out.set_operation(name_text_of(begin.operation));
  out.set_start_unix_nano(begin.start_unix_nano);
  out.set_end_unix_nano(begin.end_unix_nano);
  write_clock(begin.clock, out);
  out.set_crosses_clock_jump(begin.crosses_clock_jump);
  out.set_truncated(begin.truncated);
  write_losses(begin.losses, out);
  out.set_size_bytes(begin.size_bytes);
  out.set_sha256(optional_bytes_of(begin.sha256));
  out.set_content_is_stored(begin.content_is_stored);
  out.set_redaction_fingerprint(begin.redaction_fingerprint.substr(0, kMostFingerprintBytes));
  return message.SerializeAsString();
}

std::string encode(const SlowTrace& trace) {
  v1::AgentMessage message;
  v1::SlowTrace& out = *message.mutable_slow_trace();
  out.set_trace_id(bytes_of(trace.trace_id));
  out.set_operation(name_text_of(trace.operation));
  out.set_hold_nano(trace.hold_nano);
  out.set_start_unix_nano(trace.start_unix_nano);
  out.set_end_unix_nano(trace.end_unix_nano);
  write_clock(trace.clock, out);
  return message.SerializeAsString();
}

std::string encode(const SkippedCaptures& skipped) {
  v1::AgentMessage message;
  v1::SkippedCaptures& out = *message.mutable_skipped_captures();
  for (size_t i = 0; i < std::min(skipped.size(), kMostSkippedCaptures); ++i) {
    v1::SkippedCapture& one = *out.add_captures();
    one.set_trace_id(bytes_of(skipped[i].trace_id));
    one.set_span_id(optional_bytes_of(skipped[i].span_id));
    one.set_trigger(static_cast<v1::CaptureTrigger>(skipped[i].trigger));
    one.set_reason(static_cast<v1::SkipReason>(skipped[i].reason));
    one.set_service(name_text_of(skipped[i].service));
    one.set_pid(skipped[i].pid);
    one.set_operation(name_text_of(skipped[i].operation));
    one.set_skipped_unix_nano(skipped[i].skipped_unix_nano);
  }
  return message.SerializeAsString();
}

std::string encode(const CaptureAnswer& answer) {
  v1::AgentMessage message;
  v1::CaptureAnswer& out = *message.mutable_capture_answer();
  out.set_request_id(answer.request_id);
  for (size_t i = 0; i < std::min(answer.capture_ids.size(), kMostCaptureIds); ++i) {
    out.add_capture_ids(bytes_of(answer.capture_ids[i]));
  }
  out.set_skipped(text_of(answer.skipped));
  return message.SerializeAsString();
}

std::string encode(const TracepointAnswer& answer) {
  v1::AgentMessage message;
  v1::TracepointAnswer& out = *message.mutable_tracepoint_answer();
  out.set_request_id(answer.request_id);
  out.set_failure(text_of(answer.failure));
  out.set_truncated(answer.truncated);
  AnswerRoom room;
  for (const ProgramTracepoints& program : answer.programs) {
    if (write_program(program, out, room)) continue;
    out.set_truncated(true);
    break;
  }
  return message.SerializeAsString();
}

std::string batch_head(uint64_t sequence, const BatchIdentity& identity, const std::optional<ClockOffset>& clock,
                       uint64_t otlp_bytes) {
  v1::Batch fields;
  fields.set_sequence(sequence);
  fields.set_identity(bytes_of(identity));
  write_clock(clock, fields);
  std::string bytes = fields.SerializeAsString();
  WireAppender(bytes).length(v1::Batch::kOtlpFieldNumber, otlp_bytes);
  return head_of(v1::AgentMessage::kBatch, bytes, otlp_bytes);
}

std::string capture_part_head(const CaptureId& id, uint64_t offset, uint64_t content_bytes) {
  v1::CapturePart fields;
  fields.set_capture_id(bytes_of(id));
  fields.set_offset(offset);
  std::string bytes = fields.SerializeAsString();
  WireAppender(bytes).length(v1::CapturePart::kContentFieldNumber, content_bytes);
  return head_of(v1::AgentMessage::kCapturePart, bytes, content_bytes);
}

}  // namespace fathom::ingest
