// A member that is an instant: its nanoseconds as text, because a double would lose digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/json_writer.h"

namespace fathom::query {

inline void write_instant(net::JsonWriter& json, std::string_view name, uint64_t unix_nano) {
  json.member(name, std::string_view(std::to_string(unix_nano)));
}

}  // namespace fathom::query
