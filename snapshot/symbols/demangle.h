// Names of C++ as people write them, and whether one of them is meant.
//
// Thread safety: pure functions. Errors: what is not mangled, or too long to be tried, stays as it is.
#pragma once

#include <string>
#include <string_view>

namespace fathom::snapshot {

std::string demangled(std::string_view raw);

// "int shop::handle" of "int shop::handle(Request&)".
std::string_view function_without_parameters(std::string_view name);

// Whether a person who writes `wanted` can mean `name`: "handle" and "shop::handle" mean "int shop::handle(Request&)".
// A pattern with '*' or '?' is held against all of the name, with and without its parameters. An entry of a linkage
// table is meant by its own name alone ("malloc@plt").
bool means_function(std::string_view wanted, std::string_view name);

}  // namespace fathom::snapshot
