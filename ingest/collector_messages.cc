#include "ingest/collector_messages.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "ingest.pb.h"
#include "ingest/fields.h"
#include "ingest/limits.h"

namespace fathom::ingest {

namespace {

// ---- writing

constexpr std::array kOutcomes = {v1::Ack::DURABLE, v1::Ack::RETRY, v1::Ack::REFUSED};
static_assert(kOutcomes.size() == static_cast<size_t>(Ack::Outcome::kRefused) + 1);

constexpr std::array kStates = {v1::CaptureProgress::TAKEN, v1::CaptureProgress::DURABLE, v1::CaptureProgress::RETRY,
                                v1::CaptureProgress::REFUSED};
static_assert(kStates.size() == static_cast<size_t>(CaptureProgress::State::kRefused) + 1);

constexpr std::array kActions = {v1::TracepointRequest::LIST, v1::TracepointRequest::ENABLE,
                                 v1::TracepointRequest::DISABLE};
static_assert(kActions.size() == static_cast<size_t>(TracepointAction::kDisable) + 1);

size_t wire_bytes(const OperationThreshold& operation) {
  constexpr size_t kNumbersAndTags = 32;
  return operation.service_namespace.size() + operation.service.size() + operation.operation.size() + kNumbersAndTags;
}

// ---- reading

// The place of `value`, as the enum that the array is indexed by; `unknown` if it has none.
template <typename Enum, typename Values, typename Value>
Enum place_of(const Values& values, Value value, Enum unknown) {
  auto found = std::ranges::find(values, value);
  return found == values.end() ? unknown : static_cast<Enum>(found - values.begin());
}

CollectorMessage read(const v1::Welcome& welcome) {
  return Welcome{text_of(welcome.collector_version()), welcome.max_batch_bytes(),
                 welcome.max_unacknowledged_bytes(),   welcome.max_unacknowledged_batches(),
                 welcome.max_capture_bytes(),          welcome.max_capture_bytes_under_way(),
                 welcome.shares_capture_contents()};
}

CollectorMessage read(const v1::Ack& ack) {
  return Ack{ack.sequence(), place_of(kOutcomes, ack.outcome(), Ack::Outcome::kRetry), ack.retry_after_nano(),
             text_of(ack.message()), ack.rejected_spans()};
}

CollectorMessage read(const v1::ClockReply& reply) {
  return ClockReply{reply.probe_sent_unix_nano(), reply.received_unix_nano(), reply.sent_unix_nano()};
}

CollectorMessage read(const v1::CaptureProgress& message) {
  CaptureProgress progress{.state = place_of(kStates, message.state(), CaptureProgress::State::kRetry),
                           .taken_bytes = message.taken_bytes(),
                           .retry_after_nano = message.retry_after_nano(),
                           .message = text_of(message.message())};
  read_id(message.capture_id(), progress.id);
  return progress;
}

CollectorMessage read(const v1::Thresholds& message) {
  const auto count = static_cast<size_t>(message.operations_size());
  const size_t taken = std::min(count, kMostThresholds);
  SaidThresholds said{{.replaces = message.replaces(), .operations = {}}, count - taken};
  said.thresholds.operations.reserve(taken);
  for (const v1::OperationThreshold& one : message.operations()) {
    if (said.thresholds.operations.size() == taken) break;
    // Cut as the names of spans are, or they would not meet.
    said.thresholds.operations.push_back({name_text_of(one.service_namespace()), name_text_of(one.service()),
                                          name_text_of(one.operation()), static_cast<uint8_t>(one.kind()),
                                          one.threshold_nano()});
  }
  return said;
}

std::string fault_of(const CaptureRequest& request) {
  if (request.end_unix_nano < request.start_unix_nano && request.end_unix_nano != 0) {
    return "the request's window ends before it starts";
  }
  if (request.trace_id.is_zero() && request.pid == 0 && request.service.empty()) {
    return "the request does not say whose detail";
  }
  if (request.hold_nano > 0 && request.trace_id.is_zero()) return "only what belongs to a trace can be held";
  return "";
}

CollectorMessage read(const v1::CaptureRequest& message) {
  const bool is_remote = message.trigger() == v1::CAPTURE_TRIGGER_REMOTE;
  Asked<CaptureRequest> asked{{.request_id = message.request_id(),
                               .trigger = is_remote ? CaptureTrigger::kRemote : CaptureTrigger::kRequested,
                               .pid = message.pid(),
                               .service = name_text_of(message.service()),
                               .start_unix_nano = message.start_unix_nano(),
                               .end_unix_nano = message.end_unix_nano(),
                               .duration_nano = message.duration_nano(),
                               .reason = text_of(message.reason()),
                               .hold_nano = message.hold_nano()},
                              ""};
  const bool ids = read_optional_id(message.trace_id(), asked.request.trace_id) &&
                   read_optional_id(message.node_id(), asked.request.node_id);
  asked.fault = ids ? fault_of(asked.request) : "the request has an id of a wrong size";
  return asked;
}

std::string fault_of(const v1::TracepointRequest& request) {
  if (request.patterns_size() > static_cast<int>(kMostPatterns)) return "the request has too many patterns";
  for (const std::string& pattern : request.patterns()) {
    if (pattern.size() > kMostPatternBytes) return "a pattern of the request is too long";
  }
  // A list is not harmful; what else a later version asks might be.
  if (!v1::TracepointRequest::Action_IsValid(request.action())) return "this agent does not know such an action";
  return "";
}

CollectorMessage read(const v1::TracepointRequest& message) {
  Asked<TracepointRequest> asked{{.request_id = message.request_id()}, fault_of(message)};
  if (!read_optional_id(message.node_id(), asked.request.node_id)) {
    asked.fault = "the request has an id of a wrong size";
  }
  if (!asked.fault.empty()) return asked;
  asked.request.action = place_of(kActions, message.action(), TracepointAction::kList);
  asked.request.patterns.assign(message.patterns().begin(), message.patterns().end());
  asked.request.pid = message.pid();
  asked.request.service = name_text_of(message.service());
  return asked;
}

// Not a part of them: what is left out might have switched off what the others switch on.
CollectorMessage read(const v1::TracepointRules& message) {
  Asked<std::vector<TracepointRule>> asked;
  size_t bytes = 0;
  for (const v1::TracepointRule& rule : message.rules()) bytes += bytes_of_rule(rule.pattern());
  if (message.rules_size() > static_cast<int>(kMostRules) || bytes > kMostRulesBytes) {
    asked.fault = "the collector has more rules for tracepoints than agents take";
    return asked;
  }
  for (const v1::TracepointRule& rule : message.rules()) {
    asked.request.push_back({rule.enables(), rule.pattern(), name_text_of(rule.service()), std::nullopt});
  }
  return asked;
}

// Bytes, not text: a repaired rule would be another one. Not a part of them: what is left out would not be redacted.
CollectorMessage read(const v1::RedactionRules& message) {
  Asked<RedactionRules> asked;
  size_t bytes = 0;
  for (const std::string& rule : message.rules()) bytes += rule.size();
  const bool is_too_much = message.rules_size() > static_cast<int>(kMostRedactionRules) ||
                           bytes > kMostRedactionBytes || message.key().size() > kMostRedactionKeyBytes ||
                           message.fingerprint().size() > kMostFingerprintBytes;
  if (is_too_much) asked.fault = "the collector has more rules of redaction than agents take";
  if (!is_too_much && message.fingerprint().empty() != message.rules().empty()) {
    asked.fault = "the collector's rules of redaction have no fingerprint, or the fingerprint has no rules";
  }
  if (!asked.fault.empty()) return asked;
  asked.request = {message.fingerprint(), {message.rules().begin(), message.rules().end()}, message.key()};
  return asked;
}

}  // namespace

std::string encode(const Welcome& welcome) {
  v1::CollectorMessage message;
  v1::Welcome& out = *message.mutable_welcome();
  out.set_protocol_version(kProtocolVersion);
  out.set_collector_version(welcome.collector_version);
  out.set_max_batch_bytes(welcome.max_batch_bytes);
  out.set_max_unacknowledged_bytes(welcome.max_unacknowledged_bytes);
  out.set_max_unacknowledged_batches(welcome.max_unacknowledged_batches);
  out.set_max_capture_bytes(welcome.max_capture_bytes);
  out.set_max_capture_bytes_under_way(welcome.max_capture_bytes_under_way);
  out.set_shares_capture_contents(welcome.shares_capture_contents);
  return message.SerializeAsString();
}

std::string encode(const Ack& ack) {
  v1::CollectorMessage message;
  v1::Ack& out = *message.mutable_ack();
  out.set_sequence(ack.sequence);
  out.set_outcome(kOutcomes[static_cast<size_t>(ack.outcome)]);
  out.set_retry_after_nano(ack.retry_after_nano);
  out.set_message(text_of(ack.message));
  out.set_rejected_spans(ack.rejected_spans);
  return message.SerializeAsString();
}

std::string encode(const ClockReply& reply) {
  v1::CollectorMessage message;
  v1::ClockReply& out = *message.mutable_reply();
  out.set_probe_sent_unix_nano(reply.probe_sent_unix_nano);
  out.set_received_unix_nano(reply.received_unix_nano);
  out.set_sent_unix_nano(reply.sent_unix_nano);
  return message.SerializeAsString();
}

std::string encode(const CaptureProgress& progress) {
  v1::CollectorMessage message;
  v1::CaptureProgress& out = *message.mutable_capture_progress();
  out.set_capture_id(bytes_of(progress.id));
  out.set_state(kStates[static_cast<size_t>(progress.state)]);
  out.set_taken_bytes(progress.taken_bytes);
  out.set_retry_after_nano(progress.retry_after_nano);
  out.set_message(text_of(progress.message));
  return message.SerializeAsString();
}

std::string encode(const Thresholds& thresholds) {
  v1::CollectorMessage message;
  v1::Thresholds& out = *message.mutable_thresholds();
  out.set_replaces(thresholds.replaces);
  for (const OperationThreshold& operation : thresholds.operations) {
    v1::OperationThreshold& one = *out.add_operations();
    one.set_service_namespace(name_text_of(operation.service_namespace));
    one.set_service(name_text_of(operation.service));
    one.set_operation(name_text_of(operation.operation));
    one.set_kind(operation.kind);
    one.set_threshold_nano(operation.threshold_nano);
  }
  return message.SerializeAsString();
}

std::vector<std::string> encode_in_parts(const Thresholds& thresholds) {
  std::vector<std::string> messages;
  auto at = thresholds.operations.begin();
  do {
    auto from = at;
    for (size_t bytes = 0; at != thresholds.operations.end(); ++at) {
      bytes += wire_bytes(*at);
      auto count = static_cast<size_t>(std::distance(from, at));
      if (at != from && (bytes > kMostThresholdBytes || count >= kMostThresholds)) break;
    }
    messages.push_back(encode(Thresholds{thresholds.replaces && messages.empty(), {from, at}}));
  } while (at != thresholds.operations.end());
  return messages;
}

std::string encode(const CaptureRequest& request) {
  v1::CollectorMessage message;
  v1::CaptureRequest& out = *message.mutable_capture_request();
  out.set_request_id(request.request_id);
  out.set_trigger(static_cast<v1::CaptureTrigger>(request.trigger));
  out.set_trace_id(optional_bytes_of(request.trace_id));
  out.set_pid(request.pid);
  out.set_service(name_text_of(request.service));
  if (request.node_id) out.set_node_id(bytes_of(*request.node_id));
  out.set_start_unix_nano(request.start_unix_nano);
  out.set_end_unix_nano(request.end_unix_nano);
  out.set_duration_nano(request.duration_nano);
  out.set_reason(text_of(request.reason));
  out.set_hold_nano(request.hold_nano);
  return message.SerializeAsString();
}

std::string encode(const TracepointRequest& request) {
  v1::CollectorMessage message;
  v1::TracepointRequest& out = *message.mutable_tracepoint_request();
  out.set_request_id(request.request_id);
  out.set_action(kActions[static_cast<size_t>(request.action)]);
  // Not cut: a shorter pattern is another one. Agents refuse what is too long.
  for (const std::string& pattern : request.patterns) out.add_patterns(name_text_of(pattern));
  out.set_pid(request.pid);
  out.set_service(name_text_of(request.service));
  if (request.node_id) out.set_node_id(bytes_of(*request.node_id));
  return message.SerializeAsString();
}

std::string encode(const std::vector<TracepointRule>& rules) {
  v1::CollectorMessage message;
  v1::TracepointRules& out = *message.mutable_tracepoint_rules();
  for (const TracepointRule& rule : rules) {
    v1::TracepointRule& one = *out.add_rules();
    one.set_enables(rule.enables);
    one.set_pattern(name_text_of(rule.pattern));
    one.set_service(name_text_of(rule.service));
  }
  return message.SerializeAsString();
}

std::string encode(const RedactionRules& rules) {
  v1::CollectorMessage message;
  v1::RedactionRules& out = *message.mutable_redaction_rules();
  out.set_fingerprint(rules.fingerprint);
  for (const std::string& rule : rules.rules) out.add_rules(rule);
  out.set_key(rules.key);
  return message.SerializeAsString();
}

Result<CollectorMessage> parse_collector_message(std::string_view bytes) {
  v1::CollectorMessage message;
  if (bytes.size() > kMostCollectorMessageBytes ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return invalid("the message is malformed");
  }
  switch (message.message_case()) {
    case v1::CollectorMessage::kWelcome:
      return read(message.welcome());
    case v1::CollectorMessage::kAck:
      return read(message.ack());
    case v1::CollectorMessage::kReply:
      return read(message.reply());
    case v1::CollectorMessage::kCaptureProgress:
      return read(message.capture_progress());
    case v1::CollectorMessage::kThresholds:
      return read(message.thresholds());
    case v1::CollectorMessage::kCaptureRequest:
      return read(message.capture_request());
    case v1::CollectorMessage::kTracepointRequest:
      return read(message.tracepoint_request());
    case v1::CollectorMessage::kTracepointRules:
      return read(message.tracepoint_rules());
    case v1::CollectorMessage::kRedactionRules:
      return read(message.redaction_rules());
    case v1::CollectorMessage::MESSAGE_NOT_SET:
      return CollectorMessage(UnknownMessage());
  }
  return CollectorMessage(UnknownMessage());
}

}  // namespace fathom::ingest
