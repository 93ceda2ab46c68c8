// rival-otel-cpp: what bench-spans measures of fathom's client, of OpenTelemetry's C++ SDK: start and end of a span
// with an integer and a text of 16 bytes, one thread, batch processor with its default options. The exporter throws
// away what it is handed, on the SDK's own thread, which has a processor of its own where there are two.
// "rival-otel-cpp --ready-fd N" writes one line of JSON to N.
#include <unistd.h>

#include <atomic>
#include <boost/json.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <opentelemetry/sdk/trace/batch_span_processor_factory.h>
#include <opentelemetry/sdk/trace/batch_span_processor_options.h>
#include <opentelemetry/sdk/trace/exporter.h>
#include <opentelemetry/sdk/trace/span_data.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>
#include <opentelemetry/version.h>

#include "bench/loops.h"

namespace {

namespace sdk = opentelemetry::sdk;
namespace trace = opentelemetry::trace;
namespace nostd = opentelemetry::nostd;

constexpr int kLoops = 600;
std::atomic<uint64_t> exported{0};

class Discard : public sdk::trace::SpanExporter {
 public:
  std::unique_ptr<sdk::trace::Recordable> MakeRecordable() noexcept override {
    return std::make_unique<sdk::trace::SpanData>();
  }
  sdk::common::ExportResult Export(
      const nostd::span<std::unique_ptr<sdk::trace::Recordable>>& spans) noexcept override {
    exported += spans.size();
    return sdk::common::ExportResult::kSuccess;
  }
  bool ForceFlush(std::chrono::microseconds) noexcept override { return true; }
  bool Shutdown(std::chrono::microseconds) noexcept override { return true; }
};

double median_nano(trace::Tracer& tracer, sdk::trace::TracerProvider& provider) {
  std::vector<double> times;
  for (int loop = 0; loop < kLoops; ++loop) {
    times.push_back(fathom::bench::time_loop([&](int number) {
      auto span = tracer.StartSpan("bench/op");
      span->SetAttribute("items", static_cast<int64_t>(number));
      span->SetAttribute("tenant", nostd::string_view("0123456789abcdef", 16));
      span->End();
    }));
    provider.ForceFlush();
  }
  return fathom::bench::median(times);
}

}  // namespace

int main(int argc, char** argv) {
  const int out = argc == 3 ? std::atoi(argv[2]) : STDOUT_FILENO;
  auto provider = sdk::trace::TracerProviderFactory::Create(
      sdk::trace::BatchSpanProcessorFactory::Create(std::make_unique<Discard>(), {}));
  fathom::bench::pin_this_thread(0);  // after the SDK's thread was made, which is free to go elsewhere
  auto tracer = provider->GetTracer("bench");
  const double nano = median_nano(*tracer, *provider);
  const uint64_t lost = uint64_t{kLoops} * fathom::bench::kCallsOfALoop - exported;
  const std::string line = boost::json::serialize(boost::json::object{
                               {"start_end_2attr_ns", nano}, {"lost", lost}, {"version", OPENTELEMETRY_VERSION}}) +
                           "\n";
  return ::write(out, line.data(), line.size()) == static_cast<ssize_t>(line.size()) ? 0 : 1;
}
