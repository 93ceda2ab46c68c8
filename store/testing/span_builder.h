// Spans that own what they say, for tests: written in a line, changed field by field, made into batches.
//
// Purpose: SpanViews own nothing, so tests build TestSpans. Ids are small numbers, the service is an attribute of the
// resource like any other. Thread safety: plain values. Units: in names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/batch.h"

namespace fathom::store::testing {

// 2026-11-21T00:30:00Z, the middle of an hour.
inline constexpr uint64_t kTestNow = 1'795'221'000'000'000'000;
inline constexpr uint64_t kMicro = 1'000;
inline constexpr uint64_t kMilli = 1'000'000;

// Never zero; ordered as their numbers are.
TraceId test_trace_id(uint64_t number);
SpanId test_span_id(uint64_t number);
// The number of such an id.
uint64_t number_of(const TraceId& id);
uint64_t number_of(const SpanId& id);

struct TestAttribute {
  std::string key;
  ValueType type = ValueType::kEmpty;
  std::string text;
  uint64_t bits = 0;

  TestAttribute() = default;
  TestAttribute(std::string key, const char* value) : key(std::move(key)), type(ValueType::kString), text(value) {}
  TestAttribute(std::string key, std::string value, ValueType type = ValueType::kString)
      : key(std::move(key)), type(type), text(std::move(value)) {}
  TestAttribute(std::string key, const ValueView& value)
      : key(std::move(key)), type(value.type), text(value.text), bits(value.bits) {}
  TestAttribute(std::string key, int value) : TestAttribute(std::move(key), ValueView::of_int(value)) {}

  AttributeView view() const { return {key, {type, text, bits}}; }
};
using TestAttributes = std::vector<TestAttribute>;

struct TestEvent {
  uint64_t time_unix_nano = 0;
  std::string name;
  TestAttributes attributes;
  uint32_t dropped_attributes_count = 0;
};

struct TestLink {
  TraceId trace_id;
  SpanId span_id;
  std::string trace_state;
  TestAttributes attributes;
  uint32_t dropped_attributes_count = 0;
  uint32_t flags = 0;
};

struct TestResource {
  TestAttributes attributes;
  std::string schema_url;
  uint32_t dropped_attributes_count = 0;
};

struct TestScope {
  std::string name;
  std::string version;
  TestAttributes attributes;
  std::string schema_url;
  uint32_t dropped_attributes_count = 0;
};

struct TestSpan {
  TraceId trace_id;
  SpanId span_id;
  SpanId parent_span_id;
  uint64_t start_unix_nano = kTestNow;
  uint64_t end_unix_nano = kTestNow;
  std::string name = "GET /";
  SpanKind kind = SpanKind::kServer;
  StatusCode status = StatusCode::kUnset;
  std::string status_message;
  std::string trace_state;
  uint32_t flags = 0;
  TestAttributes attributes;
  std::vector<TestEvent> events;
  std::vector<TestLink> links;
  uint32_t dropped_attributes_count = 0;
  uint32_t dropped_events_count = 0;
  uint32_t dropped_links_count = 0;
  TestResource resource{{{"service.name", "shop"}}, "", 0};
  TestScope scope;

  // For writing a span in a line; each returns the span.
  TestSpan& parent(uint64_t number) { return parent_span_id = test_span_id(number), *this; }
  TestSpan& named(std::string value) { return name = std::move(value), *this; }
  TestSpan& of_kind(SpanKind value) { return kind = value, *this; }
  TestSpan& failed() { return status = StatusCode::kError, *this; }
  TestSpan& with(TestAttribute attribute) { return attributes.push_back(std::move(attribute)), *this; }
  TestSpan& of_service(std::string service) { return of_service("", std::move(service)); }
  TestSpan& of_service(std::string service_namespace, std::string service);
};

// A root span; `start_nano` counts from kTestNow.
TestSpan test_span(uint64_t trace, uint64_t span, int64_t start_nano, uint64_t duration_nano);

// Encodes in order, with a new resource or scope wherever they change.
BatchPtr make_batch(const std::vector<TestSpan>& spans, std::optional<ClockOffset> clock = std::nullopt,
                    const BatchLimits& limits = {}, std::optional<Hash128> identity = std::nullopt);

// One span as it was sent, in the words of store/model/span_text.h.
std::string sent_text(const TestSpan& span, std::optional<ClockOffset> clock = std::nullopt);

}  // namespace fathom::store::testing
