// A record of a program, any bytes: what the encoder makes of it must be protobuf, and not larger than it promises.
#include <cstdlib>

#include "node-agent/otlp/span_encoder.h"
#include "node-agent/testing/otlp_check.h"
#include "node-agent/testing/steady_clock.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom;
  static agent::testing::SteadyClock host;
  static agent::TickClock clock(host);
  static agent::AgentLosses losses;
  static agent::SpanEncoder encoder(clock, losses);
  std::string_view bytes(reinterpret_cast<const char*>(data), std::min<size_t>(size, pool::kMostRecordBytes));
  clock.update();
  agent::SpanRecordView view;
  if (!agent::read_span(bytes, view)) return 0;
  std::string resource = agent::encode_resource(bytes);
  view.tid = UINT32_MAX >> size % 32;
  encoder.begin(size % 2 == 0 ? pool::Clock::kTsc : pool::Clock::kMonotonic, resource, 0,
                [](uint32_t tid) { return std::optional(tid); });
  if (!encoder.span(view)) return 0;
  std::string otlp = encoder.finish();
  if (otlp.size() > resource.size() + 64 + agent::SpanEncoder::most_bytes(bytes.size())) std::abort();
  size_t spans = 0;
  if (!agent::testing::is_otlp(otlp, &spans) || spans != 1) std::abort();
  return 0;
}
