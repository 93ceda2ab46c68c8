#include "node-agent/uplink/control_messages.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/utf8.h"
#include "ingest.pb.h"
#include "node-agent/uplink/wire_fields.h"
#include "proto/ingest_limits.h"

namespace fathom::agent {

namespace {

namespace wire = fathom::ingest::v1;

constexpr size_t kMostTextBytes = 256;
constexpr size_t kMostNameBytes = 1024;  // of services and operations: the store's limit
constexpr size_t kMostLosses = 64;
constexpr size_t kMostCaptureIds = 1024;
constexpr size_t kMostAnswerBytes = 1 << 20;

// What comes from programs may be anything.
std::string text(std::string_view raw, size_t most = kMostTextBytes) {
  std::string repaired = repair_utf8(whole_characters(raw, most), most);
  return std::string(whole_characters(repaired, most));
}

bool is_zero(const auto& id) {
  return std::all_of(id.begin(), id.end(), [](uint8_t byte) { return byte == 0; });
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
  size_t left_ = kMostAnswerBytes;
};

// False: not all of it.
bool write_tracepoints(const ProgramTracepoints& program, wire::TracepointAnswer::Program& out, AnswerRoom& room) {
  for (const TracepointState& tracepoint : program.tracepoints) {
    std::string name = text(tracepoint.name), file = text(tracepoint.file);
    if (!room.take(name.size() + file.size())) return false;
    wire::TracepointAnswer::Tracepoint& one = *out.add_tracepoints();
    one.set_name(std::move(name));
    one.set_file(std::move(file));
    one.set_line(tracepoint.line);
    one.set_on(tracepoint.on);
  }
  return true;
}

bool write_program(const ProgramTracepoints& program, wire::TracepointAnswer& answer, AnswerRoom& room) {
  std::string service = text(program.service, kMostNameBytes);
  if (!room.take(service.size())) return false;
  wire::TracepointAnswer::Program& out = *answer.add_programs();
  out.set_pid(program.pid);
  out.set_service(std::move(service));
  bool all = write_tracepoints(program, out, room);
  out.set_truncated(!all);
  return all;
}

// ---- what is asked

Counter& cut_thresholds() {
  static Counter& counted = counter("fathom_agent_passed_over_thresholds_total",
                                    "Thresholds beyond those that an agent takes of one message of the collector");
  return counted;
}

template <size_t kSize>
bool read_id(const std::string& raw, std::array<uint8_t, kSize>& id) {
  if (raw.empty()) return true;
  if (raw.size() != kSize) return false;
  std::copy(raw.begin(), raw.end(), id.begin());
  return true;
}

AskedThresholds read(const wire::Thresholds& thresholds) {
  auto count = static_cast<size_t>(thresholds.operations_size());
  size_t taken = std::min(count, ingest::kMostThresholds);
  cut_thresholds().add(count - taken);
  AskedThresholds asked{.replaces = thresholds.replaces()};
  asked.operations.reserve(taken);
  for (const wire::OperationThreshold& one : thresholds.operations()) {
    if (asked.operations.size() == taken) break;
    // Cut as the names of spans are, or they would not meet.
    asked.operations.push_back({text(one.service_namespace(), kMostNameBytes), text(one.service(), kMostNameBytes),
                                text(one.operation(), kMostNameBytes), static_cast<uint8_t>(one.kind()),
                                one.threshold_nano()});
  }
  return asked;
}

AskedCapture read(const wire::CaptureRequest& request) {
  AskedCapture asked;
  CaptureRequest& out = asked.request;
  out.request_id = request.request_id();
  out.trigger = request.trigger() == static_cast<uint32_t>(CaptureTrigger::kRemote) ? CaptureTrigger::kRemote
                                                                                    : CaptureTrigger::kRequested;
  bool ids = read_id(request.trace_id(), out.trace_id) && read_id(request.node_id(), asked.node_id);
  if (!ids) asked.fault = "the request has an id of a wrong size";
  out.pid = request.pid();
  out.service = text(request.service(), kMostNameBytes);
  out.start_unix_nano = request.start_unix_nano();
  out.end_unix_nano = request.end_unix_nano();
  out.duration_nano = request.duration_nano();
  out.reason = text(request.reason());
  if (out.end_unix_nano < out.start_unix_nano && out.end_unix_nano != 0) {
    asked.fault = "the request's window ends before it starts";
  }
  if (is_zero(out.trace_id) && out.pid == 0 && out.service.empty())
    asked.fault = "the request does not say whose detail";
  return asked;
}

std::string fault_of(const wire::TracepointRequest& request) {
  if (request.patterns_size() > static_cast<int>(ingest::kMostPatterns)) return "the request has too many patterns";
  for (const std::string& pattern : request.patterns()) {
    if (pattern.size() > ingest::kMostPatternBytes) return "a pattern of the request is too long";
  }
  // A list is not harmful; what else a later version asks might be.
  if (!wire::TracepointRequest::Action_IsValid(request.action())) return "this agent does not know such an action";
  return "";
}

AskedTracepoints read(const wire::TracepointRequest& request) {
  AskedTracepoints asked;
  asked.request.request_id = request.request_id();
  asked.fault = fault_of(request);
  if (!read_id(request.node_id(), asked.node_id)) asked.fault = "the request has an id of a wrong size";
  if (!asked.fault.empty()) return asked;
  if (request.action() == wire::TracepointRequest::ENABLE) asked.request.action = TracepointRequest::Action::kEnable;
  if (request.action() == wire::TracepointRequest::DISABLE) asked.request.action = TracepointRequest::Action::kDisable;
  asked.request.patterns.assign(request.patterns().begin(), request.patterns().end());
  asked.request.pid = request.pid();
  asked.request.service = text(request.service(), kMostNameBytes);
  return asked;
}

size_t rules_bytes(const wire::TracepointRules& rules) {
  size_t bytes = 0;
  for (const wire::TracepointRule& rule : rules.rules()) bytes += ingest::bytes_of_rule(rule.pattern());
  return bytes;
}

// Not a part of them: what is left out might have switched off what the others switch on.
std::optional<LinkControl> read(const wire::TracepointRules& rules) {
  bool too_many = rules.rules_size() > static_cast<int>(ingest::kMostRules);
  if (too_many || rules_bytes(rules) > ingest::kMostRulesBytes) {
    log_warning("the collector has more rules for tracepoints than agents take; none of them is obeyed");
    return std::nullopt;
  }
  AskedRules asked;
  for (const wire::TracepointRule& rule : rules.rules()) {
    asked.rules.push_back({rule.enables(), rule.pattern(), text(rule.service(), kMostNameBytes)});
  }
  return asked;
}

}  // namespace

std::string capture_begin_message(const OutgoingCapture& capture, const std::optional<ClockOffset>& clock) {
  wire::AgentMessage message;
  wire::CaptureBegin& out = *message.mutable_capture_begin();
  out.set_capture_id(text_of(capture.id));
  if (!is_zero(capture.trace_id)) out.set_trace_id(text_of(capture.trace_id));
  if (!is_zero(capture.span_id)) out.set_span_id(text_of(capture.span_id));
  out.set_trigger(static_cast<uint32_t>(capture.trigger));
  out.set_service(text(capture.service, kMostNameBytes));
  out.set_pid(capture.pid);
  out.set_operation(text(capture.operation, kMostNameBytes));
  out.set_start_unix_nano(capture.start_unix_nano);
  out.set_end_unix_nano(capture.end_unix_nano);
  if (clock) out.mutable_clock()->set_offset_nano(clock->offset_nano);
  if (clock) out.mutable_clock()->set_error_nano(clock->error_nano);
  out.set_crosses_clock_jump(capture.crosses_clock_jump);
  out.set_truncated(capture.truncated);
  for (size_t i = 0; i < std::min(capture.losses.size(), kMostLosses); ++i) {
    wire::Loss& loss = *out.add_losses();
    loss.set_reason(text(capture.losses[i].first));
    loss.set_count(capture.losses[i].second);
  }
  out.set_size_bytes(capture.content->size());
  if (!is_zero(capture.sha256)) out.set_sha256(text_of(capture.sha256));
  return message.SerializeAsString();
}

std::string capture_part_head(const std::array<uint8_t, 16>& capture_id, uint64_t offset, uint64_t content_bytes) {
  std::string fields;
  ByteWriter out(fields);
  out.u8(bytes_tag(1));
  out.string(text_of(capture_id));
  out.u8(varint_tag(2));
  out.varint(offset);
  out.u8(bytes_tag(3));
  out.varint(content_bytes);
  return message_head(6, fields, content_bytes);
}

std::string capture_answer_message(const CaptureAnswer& answer) {
  wire::AgentMessage message;
  wire::CaptureAnswer& out = *message.mutable_capture_answer();
  out.set_request_id(answer.request_id);
  for (size_t i = 0; i < std::min(answer.capture_ids.size(), kMostCaptureIds); ++i) {
    out.add_capture_ids(text_of(answer.capture_ids[i]));
  }
  out.set_skipped(text(answer.skipped));
  return message.SerializeAsString();
}

std::string tracepoint_answer_message(const TracepointAnswer& answer) {
  wire::AgentMessage message;
  wire::TracepointAnswer& out = *message.mutable_tracepoint_answer();
  out.set_request_id(answer.request_id);
  out.set_failure(text(answer.failure));
  AnswerRoom room;
  for (const ProgramTracepoints& program : answer.programs) {
    if (write_program(program, out, room)) continue;
    out.set_truncated(true);
    break;
  }
  return message.SerializeAsString();
}

LinkProgress read_progress(const wire::CaptureProgress& progress) {
  using State = LinkProgress::State;
  LinkProgress read{.taken_bytes = progress.taken_bytes(),
                    .retry_after_nano = progress.retry_after_nano(),
                    .message = text(progress.message())};
  read_id(progress.capture_id(), read.id);
  // A state that is not known here must not drop anything.
  read.state = State::kRetry;
  if (progress.state() == wire::CaptureProgress::TAKEN) read.state = State::kTaken;
  if (progress.state() == wire::CaptureProgress::DURABLE) read.state = State::kDurable;
  if (progress.state() == wire::CaptureProgress::REFUSED) read.state = State::kRefused;
  return read;
}

std::optional<LinkControl> read_control(const wire::CollectorMessage& message) {
  if (message.has_thresholds()) return read(message.thresholds());
  if (message.has_capture_request()) return read(message.capture_request());
  if (message.has_tracepoint_request()) return read(message.tracepoint_request());
  if (message.has_tracepoint_rules()) return read(message.tracepoint_rules());
  return std::nullopt;
}

}  // namespace fathom::agent
