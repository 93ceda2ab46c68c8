// Bodies of any bytes that ask nodes for something: a named error, or a request within its limits.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "query/control_asks.h"

namespace {

template <typename T>
void require_message(const fathom::Result<T>& parsed) {
  if (!parsed.ok() && parsed.error().message.empty()) std::abort();
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom::query;
  std::string_view body(reinterpret_cast<const char*>(data), size);
  auto capture = parse_capture_ask(body);
  require_message(capture);
  if (capture.ok()) {
    require(int{!capture->request.trace_id.is_zero()} + int{capture->request.pid != 0} +
                int{!capture->request.service.empty()} ==
            1);
    require(capture->request.duration_nano <= kMostCaptureNano && capture->request.reason.size() <= 256);
  }
  auto tracepoints = parse_tracepoint_ask(body);
  require_message(tracepoints);
  if (tracepoints.ok()) {
    require(!tracepoints->request.patterns.empty() && tracepoints->request.patterns.size() <= 64);
    for (const std::string& pattern : tracepoints->request.patterns) {
      require(!pattern.empty() && pattern.size() < 256 && pattern[0] != '-' && pattern.find(',') == std::string::npos);
    }
    require(tracepoints->request.action != fathom::ingest::TracepointAction::kList);
  }
  return 0;
}
