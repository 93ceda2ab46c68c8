// AnyValue as OTLP/JSON: what an attribute's value is, and nested values as the same JSON text that protobuf gives.
//
// Purpose: the recursive part, apart from the rest. Ownership: views point into the request, or into text that the sink
// keeps. Thread safety: pure, but for the sink and the cursor. Errors: the cursor has failed.
#pragma once

#include "collector/otlp/json_cursor.h"
#include "collector/otlp/span_sink.h"
#include "store/span.h"

namespace fathom::collector {

// A string as the request has it; what had escapes is kept by the sink. Null is the empty string.
std::string_view json_text(JsonCursor& json, SpanSink& sink);

// Reads the value under the cursor. False when it is nested too deeply; the cursor stands behind it all the same.
bool json_any_value(JsonCursor& json, store::ValueView& value, SpanSink& sink);

}  // namespace fathom::collector
