#include "store/capture.h"

#include <array>

#include "base/utf8.h"

namespace fathom::store {

namespace {

constexpr std::array<std::string_view, kLastCaptureTrigger> kTriggerNames = {"overdue", "slow",  "error", "requested",
                                                                             "program", "crash", "remote"};

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

std::string_view capture_trigger_name(CaptureTrigger trigger) {
  size_t number = static_cast<size_t>(trigger);
  return number == 0 || number > kTriggerNames.size() ? "unknown" : kTriggerNames[number - 1];
}

std::optional<CaptureTrigger> capture_trigger_of(std::string_view name) {
  for (uint8_t number = 1; number <= kLastCaptureTrigger; ++number) {
    if (kTriggerNames[number - 1] == name) return static_cast<CaptureTrigger>(number);
  }
  return std::nullopt;
}

Result<> check(const CaptureInfo& info) {
  if (info.id.is_zero()) return invalid("a capture has no id");
  if (info.tenant != 0) return invalid("a capture is of a tenant that does not exist");
  uint8_t trigger = static_cast<uint8_t>(info.trigger);
  if (trigger == 0 || trigger > kLastCaptureTrigger) return invalid("a capture's trigger is unknown");
  if (info.end_unix_nano < info.start_unix_nano) return invalid("a capture's window ends before it starts");
  if (Result<> checked = check_text(info.node_name, "node name"); !checked) return checked;
  if (Result<> checked = check_text(info.service, "service"); !checked) return checked;
  if (Result<> checked = check_text(info.operation, "operation"); !checked) return checked;
  return check_losses(info.losses);
}

}  // namespace fathom::store
