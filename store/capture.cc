#include "store/capture.h"

#include "base/utf8.h"

namespace fathom::store {

namespace {

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
