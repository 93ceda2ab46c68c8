// Attributes as JSON: one object, each key once, values with their types.
//
// Purpose: what a person or a script expects of {"key": value}; the last of equal keys wins. Integers are exact,
// doubles keep a fraction, bytes are base64, arrays and maps are themselves, empty is null. Whatever is stored, the
// result is a valid document. Thread safety: plain functions.
#pragma once

#include <span>

#include "net/json_writer.h"
#include "store/span.h"

namespace fathom::query {

void write_attributes(net::JsonWriter& json, std::span<const store::AttributeView> attributes);
// "cut_attributes": the keys whose values were longer than the limit; nothing when there are none.
void write_cut_keys(net::JsonWriter& json, std::span<const store::AttributeView> attributes);
void write_value(net::JsonWriter& json, const store::ValueView& value);

}  // namespace fathom::query
