// Values of attributes as text, spelled as --where takes them.
//
// Purpose: what is shown can be pasted into --where: doubles in their shortest form (2.5, 1, 1e-07, nan, inf), an empty
// value as nothing. Everything has gone through printable(). Thread safety: pure functions.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::cli {

std::string value_text(const boost::json::value& value);

// At most 200 columns of it; what was longer says how long it is and where all of it can be had.
std::string short_value_text(const boost::json::value& value);

// A name for people: printable, and "(no name)" where it is empty.
std::string name_text(std::string_view name);

// The digits of a node's id that tell it from others.
std::string short_node_id(std::string_view node_id);

}  // namespace fathom::cli
