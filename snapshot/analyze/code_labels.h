// How tables name code: a function, and a line of source, as there is room for them.
//
// Purpose: C++ names of a thousand characters make a table unreadable, and what tells two of them apart is mostly not
// in their arguments. Names that fit stay as they are; of longer ones first the arguments of templates, then the
// parameters become "...", and what is still too long is cut. JSON has names in full. Thread safety: pure functions.
// Units: columns of a terminal. The texts are printable.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "snapshot/symbols/image_symbols.h"

namespace fathom::snapshot {

inline constexpr size_t kFunctionColumns = 72;

std::string short_function_name(std::string_view name, size_t columns = kFunctionColumns);

// "shop/main.cc:42": the last two names of the path.
std::string short_line(const SourceLine& line);

// The innermost inlined function (CodeNames::frames()) at an instruction that is not from a system header; its line is
// the user's own code. nullptr: nothing was inlined, or only system headers were.
const SourceFrame* innermost_own_inlined(std::span<const SourceFrame> frames);

}  // namespace fathom::snapshot
