// What agents are told and asked, as bytes.
#include <algorithm>
#include <iterator>

#include "collector/agents/control.h"
#include "collector/agents/message_fields.h"
#include "ingest.pb.h"
#include "proto/ingest_limits.h"

namespace fathom::collector {

namespace {

namespace wire = fathom::ingest::v1;

size_t wire_bytes(const OperationThreshold& operation) {
  constexpr size_t kNumbersAndTags = 32;
  return operation.service_namespace.size() + operation.service.size() + operation.operation.size() + kNumbersAndTags;
}

}  // namespace

std::string thresholds_message(const std::vector<OperationThreshold>& operations, bool replaces) {
  wire::CollectorMessage message;
  wire::Thresholds& out = *message.mutable_thresholds();
  out.set_replaces(replaces);
  for (const OperationThreshold& operation : operations) {
    wire::OperationThreshold& one = *out.add_operations();
    one.set_service_namespace(text_of(operation.service_namespace, kMostNameBytes));
    one.set_service(text_of(operation.service, kMostNameBytes));
    one.set_operation(text_of(operation.operation, kMostNameBytes));
    one.set_kind(operation.kind);
    one.set_threshold_nano(operation.threshold_nano);
  }
  return message.SerializeAsString();
}

std::vector<std::string> thresholds_messages(const std::vector<OperationThreshold>& operations, bool replaces) {
  std::vector<std::string> messages;
  auto at = operations.begin();
  do {
    auto from = at;
    for (size_t bytes = 0; at != operations.end(); ++at) {
      bytes += wire_bytes(*at);
      auto count = static_cast<size_t>(std::distance(from, at));
      if (at != from && (bytes > ingest::kMostThresholdBytes || count >= ingest::kMostThresholds)) break;
    }
    messages.push_back(thresholds_message({from, at}, replaces && messages.empty()));
  } while (at != operations.end());
  return messages;
}

std::string capture_request_message(const CaptureRequest& request) {
  wire::CollectorMessage message;
  wire::CaptureRequest& out = *message.mutable_capture_request();
  out.set_request_id(request.request_id);
  out.set_trigger(static_cast<uint32_t>(request.trigger));
  if (!request.trace_id.is_zero()) out.set_trace_id(std::string(request.trace_id.view()));
  out.set_pid(request.pid);
  out.set_service(text_of(request.service, kMostNameBytes));
  if (request.node_id) out.set_node_id(std::string(request.node_id->view()));
  out.set_start_unix_nano(request.start_unix_nano);
  out.set_end_unix_nano(request.end_unix_nano);
  out.set_duration_nano(request.duration_nano);
  out.set_reason(text_of(request.reason));
  return message.SerializeAsString();
}

std::string tracepoint_request_message(const TracepointRequest& request) {
  wire::CollectorMessage message;
  wire::TracepointRequest& out = *message.mutable_tracepoint_request();
  out.set_request_id(request.request_id);
  constexpr wire::TracepointRequest::Action kActions[] = {
      wire::TracepointRequest::LIST, wire::TracepointRequest::ENABLE, wire::TracepointRequest::DISABLE};
  out.set_action(kActions[static_cast<size_t>(request.action)]);
  // Not cut: a shorter pattern is another one. Agents refuse what is too long.
  for (const std::string& pattern : request.patterns) out.add_patterns(text_of(pattern, kMostNameBytes));
  out.set_pid(request.pid);
  out.set_service(text_of(request.service, kMostNameBytes));
  if (request.node_id) out.set_node_id(std::string(request.node_id->view()));
  return message.SerializeAsString();
}

std::string tracepoint_rules_message(const std::vector<TracepointRule>& rules) {
  wire::CollectorMessage message;
  wire::TracepointRules& out = *message.mutable_tracepoint_rules();
  for (const TracepointRule& rule : rules) {
    wire::TracepointRule& one = *out.add_rules();
    one.set_enables(rule.enables);
    one.set_pattern(text_of(rule.pattern, kMostNameBytes));
    one.set_service(text_of(rule.service, kMostNameBytes));
  }
  return message.SerializeAsString();
}

}  // namespace fathom::collector
