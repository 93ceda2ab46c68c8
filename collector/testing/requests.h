// OTLP requests for tests, built by protobuf itself, and what a decoder should have made of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "collector/otlp/decoded.h"
#include "otlp/trace_service.pb.h"

namespace fathom::collector::testing {

using Request = opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;
using ProtoSpan = opentelemetry::proto::trace::v1::Span;
using ProtoValue = opentelemetry::proto::common::v1::AnyValue;

// A request with one resource ("checkout"), one scope and `spans` spans with valid ids and one attribute each.
Request simple_request(size_t spans);
// One span whose every field is set; json_of_full_request() says the same in OTLP/JSON.
Request full_request();
std::string full_request_as_json();
// The first span of a request.
ProtoSpan& first_span(Request& request);
std::string trace_id_bytes(uint8_t last = 1);
std::string span_id_bytes(uint64_t number);

GrowMemory unlimited();
// Decodes, failing the test when that fails.
Decoded decode(const Request& request, const store::BatchLimits& limits = {});
Decoded decode_json_text(std::string_view json, const store::BatchLimits& limits = {});
// Every span of every batch, in order.
void each_span(const Decoded& decoded, const std::function<void(const store::Batch&, const store::SpanView&)>& take);
// The value of a series now; tests compare before and after.
uint64_t counted(std::string_view name, std::string_view labels = "");

}  // namespace fathom::collector::testing
