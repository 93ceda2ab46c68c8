// A record of a program, any bytes: what the encoder makes of it must be protobuf, and not larger than it promises,
// with redaction rules, too.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node-agent/otlp/span_encoder.h"
#include "node-agent/testing/otlp_check.h"
#include "node-agent/testing/steady_clock.h"

namespace {

using namespace fathom;

std::shared_ptr<const agent::Redaction> fuzz_rules() {
  const std::vector<std::string> rules = {"hash key ?*", "mask value [a-z0-9]", "drop value z{3}"};
  auto made = Redactor::make(rules, {});
  if (!made) std::abort();
  return std::make_shared<const agent::Redaction>(nullptr, *made, "print");
}

void check_encoded(agent::SpanEncoder& encoder, const agent::SpanRecordView& view, std::string_view resource,
                   size_t record_bytes, bool of_tsc) {
  encoder.begin(of_tsc ? pool::Clock::kTsc : pool::Clock::kMonotonic, resource, 0,
                [](uint32_t tid) { return std::optional(tid); });
  if (!encoder.span(view)) return;
  const std::string otlp = encoder.finish();
  if (otlp.size() > resource.size() + 64 + agent::SpanEncoder::most_bytes(record_bytes)) std::abort();
  size_t spans = 0;
  if (!agent::testing::is_otlp(otlp, &spans) || spans != 1) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static agent::testing::SteadyClock host;
  static agent::TickClock clock(host);
  static agent::AgentLosses losses;
  static agent::SpanEncoder encoder(clock, losses);
  std::string_view bytes(reinterpret_cast<const char*>(data), std::min<size_t>(size, pool::kMostRecordBytes));
  clock.update();
  agent::SpanRecordView view;
  if (!agent::read_span(bytes, view)) return 0;
  view.tid = UINT32_MAX >> size % 32;
  static const std::shared_ptr<const agent::Redaction> rules = fuzz_rules();
  encoder.redact(nullptr);
  check_encoded(encoder, view, agent::encode_resource(bytes), bytes.size(), size % 2 == 0);
  encoder.redact(rules);
  const std::string redacted = agent::redacted_resource(bytes, *rules);
  check_encoded(encoder, view, agent::encode_resource(redacted), pool::kMostRecordBytes, size % 2 == 0);
  return 0;
}
