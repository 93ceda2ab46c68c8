// Which functions a person may have meant who wrote a name that none has.
//
// Thread safety: a pure function. Errors: none near enough is an empty answer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::snapshot {

// Of `names` (demangled), without parameters, the nearest first: "shop::reserve" for "resrve". Namespaces and classes
// do not count.
std::vector<std::string> nearest_functions(std::string_view wanted, const std::vector<std::string>& names, size_t most);

}  // namespace fathom::snapshot
