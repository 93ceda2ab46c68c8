// Captures of any content, joined and written down: valid JSON, and bytes that are a trace of Perfetto's.
//
// Input: as capture_decode_fuzz's: 0 and the bytes of a capture, or anything else and the body of one.
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "capture/body_decoder.h"
#include "capture/decode.h"
#include "capture/encode.h"
#include "perfetto/trace.pb.h"
#include "query/timeline/timeline_query.h"
#include "store/model/memory_captures.h"
#include "store/model/memory_store.h"

namespace fathom::query {

namespace {

// A trace that it is about, or none.
TraceId some_trace(const capture::Capture& content) {
  for (const auto& set : content.span_sets) {
    if (!set.empty()) return set.front().trace_id;
  }
  return {};
}

store::CaptureId keep(store::CaptureStore& captures, const capture::Capture& content) {
  store::CaptureInfo info{.trace_id = some_trace(content)};
  info.id.bytes.fill(1);
  auto writer = captures.begin(info);
  if (!writer || !(*writer)->append(0, capture::encode(content))) std::abort();
  if ((*writer)->finish().outcome != store::AppendOutcome::kDurable) std::abort();
  return info.id;
}

void show(const capture::Capture& content) {
  store::MemoryStore spans;
  store::MemoryCaptures captures;
  Stores stores(spans, &captures);
  TimelineQuery query{.most_items = 10'000};
  query.subject.capture = keep(captures, content);
  for (bool all : {false, true}) {
    query.all = all;
    store::QueryBudget budget;
    auto json = run_timeline(stores, query, budget);
    if (!json) std::abort();
    boost::json::error_code fault;
    boost::json::parse(*json, fault);
    if (fault) std::abort();
    auto bytes = run_perfetto(stores, query, budget);
    perfetto::protos::Trace trace;
    if (!bytes || !trace.ParseFromString(*bytes)) std::abort();
  }
}

}  // namespace

void fuzz(std::string_view input) {
  if (input.empty()) return;
  const capture::DecodeLimits limits{.most_bytes = 1 << 20, .most_memory_bytes = 16 << 20};
  bool framed = input[0] == 0;
  input.remove_prefix(1);
  auto content = framed ? capture::decode(input, limits) : capture::decode_body(input, limits);
  if (content.ok()) show(*content);
}

}  // namespace fathom::query

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fathom::query::fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
