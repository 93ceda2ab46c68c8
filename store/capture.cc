#include "store/capture.h"

#include "base/bytes.h"
#include "base/utf8.h"

namespace fathom::store {

namespace {

constexpr size_t kMarkBytes = 8;  // of a skipped capture's id
constexpr std::string_view kReasonPrefix = "skipped_";

Result<> check_text(std::string_view text, const char* field) {
  if (text.size() > kMostCaptureTextBytes) return invalid(std::string("a capture's ") + field + " is too long");
  if (!is_utf8(text)) return invalid(std::string("a capture's ") + field + " is not UTF-8");
  return {};
}

Result<> check_losses(const std::vector<CaptureLoss>& losses) {
  if (losses.size() > kMostCaptureLosses) return invalid("a capture names too many losses");
  for (const CaptureLoss& loss : losses) {
    if (loss.name.empty()) return invalid("a capture's loss has no name");
    if (Result<> checked = check_text(loss.name, "loss"); !checked) return checked;
  }
  return {};
}

}  // namespace

bool is_skipped(const CaptureId& id) {
  return std::all_of(id.bytes.begin(), id.bytes.begin() + kMarkBytes, [](uint8_t byte) { return byte == 0xff; });
}

CaptureId skipped_id(uint64_t number) {
  std::string bytes(kMarkBytes, '\xff');
  append_be64(bytes, number);
  return *CaptureId::from_bytes(bytes);
}

uint64_t skipped_number(const CaptureId& id) {
  return load_be64(id.view().data() + kMarkBytes);
}

CaptureInfo header_of(const SkippedCapture& skipped) {
  CaptureInfo header{.trace_id = skipped.trace_id, .node_id = skipped.node_id, .node_name = skipped.node_name};
  header.service = skipped.service;
  header.pid = skipped.pid;
  header.trigger = skipped.trigger;
  header.operation = skipped.operation;
  header.span_id = skipped.span_id;
  header.start_unix_nano = header.end_unix_nano = skipped.skipped_unix_nano;
  header.losses = {{std::string(kReasonPrefix) + std::string(name_of(skipped.reason)), 1}};
  return header;
}

SkippedCapture skipped_of(const CaptureInfo& header) {
  std::string_view reason = header.losses.empty() ? std::string_view() : header.losses.front().name;
  if (reason.starts_with(kReasonPrefix)) reason.remove_prefix(kReasonPrefix.size());
  return {.trace_id = header.trace_id,
          .span_id = header.span_id,
          .node_id = header.node_id,
          .node_name = header.node_name,
          .service = header.service,
          .pid = header.pid,
          .trigger = header.trigger,
          .reason = skip_reason_of(reason).value_or(SkipReason{}),
          .operation = header.operation,
          .skipped_unix_nano = header.start_unix_nano};
}

Result<> check(const CaptureInfo& info) {
  if (info.id.is_zero()) return invalid("a capture has no id");
  if (info.tenant != 0) return invalid("a capture is of a tenant that does not exist");
  if (!capture_trigger_of(static_cast<uint64_t>(info.trigger))) return invalid("a capture's trigger is unknown");
  if (info.end_unix_nano < info.start_unix_nano) return invalid("a capture's window ends before it starts");
  if (Result<> checked = check_text(info.node_name, "node name"); !checked) return checked;
  if (Result<> checked = check_text(info.service, "service"); !checked) return checked;
  if (Result<> checked = check_text(info.operation, "operation"); !checked) return checked;
  return check_losses(info.losses);
}

}  // namespace fathom::store
