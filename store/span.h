// The flat views in which spans cross the store's line, in both directions.
//
// Purpose: one shape for every source (OTLP today, agents later) and every engine; no protobuf type, no engine type.
// Ownership: views own nothing; whoever hands one out says how long it lives. Thread safety: plain values.
// Units: Unix nanoseconds as the sender sent them; `clock` says how far off the sender's clock is believed to be.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock_offset.h"
#include "base/ids.h"

namespace fathom::store {

enum class SpanKind : uint8_t { kUnspecified, kInternal, kServer, kClient, kProducer, kConsumer };
enum class StatusCode : uint8_t { kUnset, kOk, kError };

std::string_view span_kind_name(SpanKind kind);      // "server", ...
std::string_view status_code_name(StatusCode code);  // "unset", "ok", "error"

// The name of what lies beyond the limits of operations and services.
inline constexpr std::string_view kOtherOperation = "__other__";

// kJson: an array or a map, as canonical compact JSON text; kCut: a string that was longer than the limit allows.
enum class ValueType : uint8_t { kEmpty, kString, kBool, kInt, kDouble, kBytes, kJson, kCut };

struct ValueView {
  ValueType type = ValueType::kEmpty;
  std::string_view text;  // kString, kBytes, kJson, kCut
  uint64_t bits = 0;      // kBool, kInt: two's complement; kDouble: the IEEE bits

  static ValueView of_string(std::string_view text) { return {ValueType::kString, text, 0}; }
  static ValueView of_int(int64_t value) { return {ValueType::kInt, {}, static_cast<uint64_t>(value)}; }
  static ValueView of_bool(bool value) { return {ValueType::kBool, {}, value}; }
  static ValueView of_double(double value);

  int64_t as_int() const { return static_cast<int64_t>(bits); }
  bool as_bool() const { return bits != 0; }
  double as_double() const;
  bool is_text() const { return type == ValueType::kString || type >= ValueType::kBytes; }
  bool operator==(const ValueView&) const = default;
};

// The text that a condition KEY=VALUE is compared with: strings and JSON as they are (a cut string as its kept part),
// integers in decimal, "true"/"false", doubles in their shortest exact form, bytes in base64, empty as "".
std::string value_text(const ValueView& value);

struct AttributeView {
  std::string_view key;
  ValueView value;
};

struct EventView {
  uint64_t time_unix_nano = 0;
  std::string_view name;
  std::span<const AttributeView> attributes;
  uint32_t dropped_attributes_count = 0;
};

struct LinkView {
  TraceId trace_id;
  SpanId span_id;
  std::string_view trace_state;
  std::span<const AttributeView> attributes;
  uint32_t dropped_attributes_count = 0;
  uint32_t flags = 0;
};

// The end of something that begins at `start` and lasts `duration`; a sum beyond what 64 bits hold is the greatest
// number.
inline uint64_t end_of(uint64_t start_unix_nano, uint64_t duration_nano) {
  return duration_nano > UINT64_MAX - start_unix_nano ? UINT64_MAX : start_unix_nano + duration_nano;
}

struct ResourceView {
  std::span<const AttributeView> attributes;
  std::string_view schema_url;
  uint32_t dropped_attributes_count = 0;
};

struct ScopeView {
  std::string_view name;
  std::string_view version;
  std::span<const AttributeView> attributes;
  std::string_view schema_url;
  uint32_t dropped_attributes_count = 0;
};

struct SpanView {
  TraceId trace_id;
  SpanId span_id;
  SpanId parent_span_id;  // zero: a root
  uint64_t start_unix_nano = 0;
  uint64_t end_unix_nano = 0;
  std::string_view name;
  SpanKind kind = SpanKind::kUnspecified;
  StatusCode status = StatusCode::kUnset;
  std::string_view status_message;
  std::string_view trace_state;
  uint32_t flags = 0;
  std::span<const AttributeView> attributes;
  std::span<const EventView> events;
  std::span<const LinkView> links;
  uint32_t dropped_attributes_count = 0;
  uint32_t dropped_events_count = 0;
  uint32_t dropped_links_count = 0;

  // An end before the start is a clock's fault: the span is kept as sent and counts as taking no time.
  uint64_t duration_nano() const { return end_unix_nano > start_unix_nano ? end_unix_nano - start_unix_nano : 0; }
};

// One stored span together with what it shares with others; what trace() hands out.
struct StoredSpan {
  SpanView span;
  ResourceView resource;
  ScopeView scope;
  std::string_view service_namespace;
  std::string_view service;
  std::string_view operation;  // the span's name, or "__other__" beyond the limit of operations
  std::optional<ClockOffset> clock;
  bool conflicting = false;  // another stored span has the same id and other content
};

inline uint64_t corrected_start_unix_nano(const StoredSpan& stored) {
  return corrected_unix_nano(stored.span.start_unix_nano, stored.clock);
}

}  // namespace fathom::store
