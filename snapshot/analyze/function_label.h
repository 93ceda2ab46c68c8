// short_function_name(): a function as a line of a table has room for it.
//
// Purpose: C++ names of a thousand characters make a table unreadable, and what tells two of them apart is mostly not
// in their arguments. Names that fit stay as they are; of longer ones first the arguments of templates, then the
// parameters become "...", and what is still too long is cut. JSON has names in full. Thread safety: a pure function.
// Units: columns of a terminal. The text is printable.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fathom::snapshot {

inline constexpr size_t kFunctionColumns = 72;

std::string short_function_name(std::string_view name, size_t columns = kFunctionColumns);

}  // namespace fathom::snapshot
