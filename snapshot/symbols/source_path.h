// source_path(): a source file as its unit names it, in full.
//
// Purpose: compilers name files as they were called, which is mostly relative to where they were called. Thread safety:
// none (libdw has none): callers lock. Errors: none; where the unit does not say where that was, the name is as it is.
#pragma once

#include <elfutils/libdw.h>

#include <string>

namespace fathom::snapshot {

std::string source_path(Dwarf_Die& unit, const char* name);

}  // namespace fathom::snapshot
