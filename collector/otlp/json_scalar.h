// OTLP/JSON's scalars: 64-bit numbers as strings or numbers, enumerations, ids in hex, bytes in base64.
//
// Purpose: the rules of the protocol's JSON form, each once. Thread safety: pure functions over a cursor.
// Errors: what does not fit makes the cursor fail.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collector/otlp/json_cursor.h"

namespace fathom::collector {

// Exact for every integer; "1e3" and 1000.0 are integers too, 1.5 is not.
uint64_t json_uint64(JsonCursor& json);
int64_t json_int64(JsonCursor& json);
uint32_t json_uint32(JsonCursor& json);
// A number, or "NaN", "Infinity", "-Infinity", or a number as a string.
double json_double(JsonCursor& json);

struct JsonEnumName {
  std::string_view name;
  uint8_t value;
};
// By number or by name; what is unknown is 0, because enumerations grow.
uint8_t json_enum(JsonCursor& json, std::span<const JsonEnumName> names);

// Nothing when the text is not base64, of the standard or the URL alphabet, padded or not.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace fathom::collector
