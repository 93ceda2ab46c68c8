// AnyValue as OTLP/JSON: what an attribute's value is, and nested values as the same JSON text that protobuf gives.
//
// Purpose: the recursive part, apart from the rest. Ownership: views point into the request, or into text that the sink
// keeps. Thread safety: pure, but for the sink and the cursor. Errors: the cursor has failed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "collector/otlp/json_cursor.h"
#include "collector/otlp/span_sink.h"
#include "store/span.h"

namespace fathom::collector {

// A string as the request has it; what had escapes is kept by the sink. Null is the empty string.
std::string_view json_text(JsonCursor& json, SpanSink& sink);

// Reads the value under the cursor, or none, of the attribute `key`, as it will be stored. The cursor stands behind it
// whatever the outcome.
ValueOutcome json_any_value(JsonCursor& json, std::string_view key, bool has_value, store::ValueView& value,
                            SpanSink& sink);

// Passes over a KeyValue and calls `read(key, has_value)` once, with the cursor at the value. Rules need the key first,
// so a value that stands before its key is passed over and read afterwards. The sink keeps the key.
template <typename Read>
void json_key_value(JsonCursor& json, SpanSink& sink, Read read) {
  std::string name_scratch;
  std::string_view name, key;
  bool has_key = false, has_value = false;
  std::optional<size_t> postponed;
  for (bool more = json.begin_object(name, name_scratch); more; more = json.next_member(name, name_scratch)) {
    if (name == "key") {
      if (std::exchange(has_key, true)) return void(json.fail("an attribute with two keys"));
      key = json_text(json, sink);
    } else if (name != "value") {
      json.skip_value();
    } else if (std::exchange(has_value, true)) {
      return void(json.fail("a key with two values"));
    } else if (has_key) {
      read(key, true);
    } else {
      postponed = json.position();
      json.skip_value();
    }
  }
  if (json.failed()) return;
  if (!has_value) return read(key, false);
  if (!postponed) return;
  const size_t end = json.position();
  json.seek(*postponed);
  read(key, true);
  json.seek(end);
}

}  // namespace fathom::collector
