#include "collector/testing/requests.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/metrics.h"

namespace fathom::collector::testing {

namespace {

using ProtoAttribute = opentelemetry::proto::common::v1::KeyValue;

void set_string(ProtoAttribute* attribute, const std::string& key, const std::string& value) {
  attribute->set_key(key);
  attribute->mutable_value()->set_string_value(value);
}

void set_nested(ProtoValue* value) {
  auto* list = value->mutable_array_value();
  list->add_values()->set_int_value(-5);
  list->add_values()->set_double_value(0.5);
  list->add_values()->set_string_value("a\"b\\\n\xc3\xa9");
  list->add_values()->set_bytes_value(std::string("\x00\xff", 2));
  list->add_values();
  auto* map = list->add_values()->mutable_kvlist_value();
  auto* pair = map->add_values();
  pair->set_key("k");
  pair->mutable_value()->set_bool_value(true);
  map->add_values()->set_key("nothing");
}

void set_attributes(ProtoSpan& span) {
  set_string(span.add_attributes(), "http.route", "/cart/{id}");
  auto add = [&](const char* key) {
    auto* attribute = span.add_attributes();
    attribute->set_key(key);
    return attribute->mutable_value();
  };
  add("retries")->set_int_value(INT64_MIN);
  add("ratio")->set_double_value(1e300);
  add("cached")->set_bool_value(true);
  add("raw")->set_bytes_value(std::string("\x00\x01\xfe", 3));
  set_nested(add("nested"));
  add("empty");
}

void set_events_and_links(ProtoSpan& span) {
  auto* event = span.add_events();
  event->set_time_unix_nano(1'700'000'000'000'000'500);
  event->set_name("exception");
  set_string(event->add_attributes(), "exception.type", "Timeout");
  event->set_dropped_attributes_count(3);
  auto* link = span.add_links();
  link->set_trace_id(trace_id_bytes(9));
  link->set_span_id(span_id_bytes(9));
  link->set_trace_state("l=1");
  set_string(link->add_attributes(), "why", "batch");
  link->set_dropped_attributes_count(4);
  link->set_flags(257);
}

}  // namespace

std::string trace_id_bytes(uint8_t last) {
  std::string id(16, '\x11');
  id.back() = static_cast<char>(last);
  return id;
}

std::string span_id_bytes(uint64_t number) {
  std::string id(8, '\0');
  std::memcpy(id.data(), &number, 8);
  return id;
}

Request simple_request(size_t spans) {
  Request request;
  auto* resource_spans = request.add_resource_spans();
  set_string(resource_spans->mutable_resource()->add_attributes(), "service.name", "checkout");
  auto* scope_spans = resource_spans->add_scope_spans();
  scope_spans->mutable_scope()->set_name("tests");
  for (size_t i = 0; i < spans; ++i) {
    ProtoSpan* span = scope_spans->add_spans();
    span->set_trace_id(trace_id_bytes());
    span->set_span_id(span_id_bytes(i + 1));
    span->set_name("GET /cart");
    span->set_start_time_unix_nano(1'700'000'000'000'000'000 + i);
    span->set_end_time_unix_nano(1'700'000'000'000'001'000 + i);
    set_string(span->add_attributes(), "user", "u" + std::to_string(i));
  }
  return request;
}

ProtoSpan& first_span(Request& request) {
  return *request.mutable_resource_spans(0)->mutable_scope_spans(0)->mutable_spans(0);
}

Request full_request() {
  Request request = simple_request(1);
  auto& resource_spans = *request.mutable_resource_spans(0);
  resource_spans.mutable_resource()->set_dropped_attributes_count(7);
  resource_spans.set_schema_url("https://example.test/1");
  auto& scope_spans = *resource_spans.mutable_scope_spans(0);
  scope_spans.set_schema_url("https://example.test/2");
  scope_spans.mutable_scope()->set_version("1.2");
  scope_spans.mutable_scope()->set_dropped_attributes_count(2);
  set_string(scope_spans.mutable_scope()->add_attributes(), "lib", "x");
  ProtoSpan& span = first_span(request);
  span.set_parent_span_id(span_id_bytes(0xabcdef));
  span.set_trace_state("a=b");
  span.set_kind(ProtoSpan::SPAN_KIND_SERVER);
  span.set_flags(1);
  span.mutable_status()->set_code(opentelemetry::proto::trace::v1::Status::STATUS_CODE_ERROR);
  span.mutable_status()->set_message("no stock");
  span.set_dropped_attributes_count(11);
  span.set_dropped_events_count(12);
  span.set_dropped_links_count(13);
  span.clear_attributes();
  set_attributes(span);
  set_events_and_links(span);
  return request;
}

// Written by hand: spans before their resource, numbers in several spellings, ids in both cases, unknown members.
std::string full_request_as_json() {
  return R"({"unknown": [1, {"x": null}], "resourceSpans": [{
    "scopeSpans": [{
      "spans": [{
        "traceId": "11111111111111111111111111111101", "spanId": "0100000000000000",
        "parentSpanId": "EFCDab0000000000", "traceState": "a=b", "name": "GET \/cart", "kind": "SPAN_KIND_SERVER",
        "flags": 1, "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": 1700000000000001000,
        "attributes": [
          {"key": "http.route", "value": {"stringValue": "/cart/{id}"}},
          {"value": {"intValue": "-9223372036854775808"}, "key": "retries"},
          {"key": "ratio", "value": {"doubleValue": 1e300}},
          {"key": "cached", "value": {"boolValue": true}},
          {"key": "raw", "value": {"bytesValue": "AAH+"}},
          {"key": "nested", "value": {"arrayValue": {"values": [
            {"intValue": -5}, {"doubleValue": 0.5}, {"stringValue": "a\"b\\\n\u00e9"}, {"bytesValue": "AP8"}, {},
            {"kvlistValue": {"values": [{"value": {"boolValue": true}, "key": "k"}, {"key": "nothing"}]}}]}}},
          {"key": "empty", "value": {}}],
        "droppedAttributesCount": 11, "droppedEventsCount": "12", "droppedLinksCount": 1.3e1,
        "events": [{"timeUnixNano": "1700000000000000500", "name": "exception", "droppedAttributesCount": 3,
          "attributes": [{"key": "exception.type", "value": {"stringValue": "Timeout"}}]}],
        "links": [{"traceId": "11111111111111111111111111111109", "spanId": "0900000000000000", "traceState": "l=1",
          "attributes": [{"key": "why", "value": {"stringValue": "batch"}}], "droppedAttributesCount": 4,
          "flags": 257}],
        "status": {"code": 2, "message": "no stock"}, "later": {"field": [true, false]}}],
      "schemaUrl": "https://example.test/2",
      "scope": {"name": "tests", "version": "1.2", "droppedAttributesCount": 2,
        "attributes": [{"key": "lib", "value": {"stringValue": "x"}}]}}],
    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "checkout"}}],
      "droppedAttributesCount": 7},
    "schemaUrl": "https://example.test/1"}]})";
}

GrowMemory unlimited() {
  return [](uint64_t) { return Result<>(); };
}

Decoded decode(const Request& request, const store::BatchLimits& limits) {
  Result<Decoded> decoded = decode_protobuf(request.SerializeAsString(), limits, unlimited());
  EXPECT_TRUE(decoded.ok()) << decoded.error().message;
  return decoded.ok() ? std::move(decoded).value() : Decoded{};
}

Decoded decode_json_text(std::string_view json, const store::BatchLimits& limits) {
  Result<Decoded> decoded = decode_json(json, limits, unlimited());
  EXPECT_TRUE(decoded.ok()) << decoded.error().message;
  return decoded.ok() ? std::move(decoded).value() : Decoded{};
}

void each_span(const Decoded& decoded, const std::function<void(const store::Batch&, const store::SpanView&)>& take) {
  for (const store::BatchPtr& batch : decoded.batches) {
    store::Batch::Scratch scratch;
    for (const store::Batch::Row& row : batch->rows()) take(*batch, batch->span(row, scratch));
  }
}

uint64_t counted(std::string_view name, std::string_view labels) {
  return counter(name, "", labels).value();
}

}  // namespace fathom::collector::testing
