// AnyValue and KeyValue on the wire: what an attribute's value is, and nested values as JSON text.
//
// Purpose: the recursive part of OTLP, apart from the rest. A message that occurs twice counts as both after each other
// (protobuf's merging). Ownership: views point into the request, or into text that the sink keeps. Thread safety: pure,
// but for the sink. Errors: false for malformed bytes.
#pragma once

#include <string_view>

#include "collector/otlp/span_sink.h"
#include "store/span.h"

namespace fathom::collector {

struct ProtobufKeyValue {
  std::string_view key;
  std::string_view value;  // an AnyValue; empty when it is absent
};

bool read_key_value(std::string_view message, ProtobufKeyValue& pair, SpanSink& sink);

// The value of the attribute `key`, as it will be stored.
ValueOutcome read_any_value(std::string_view message, std::string_view key, store::ValueView& value, SpanSink& sink);

}  // namespace fathom::collector
