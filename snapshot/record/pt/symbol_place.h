// Where a function begins in processes that have its file mapped.
//
// Purpose: a breakpoint on "that function of that file" in whatever process runs it, wherever it lies there. Only the
// file that a person named is parsed, once; of processes just their maps are read. Thread safety: pure functions.
// Errors: kNotFound names what is not there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::snapshot {

struct SymbolPlace {
  std::string file;
  std::string name;  // demangled
  uint64_t inode = 0;
  std::vector<uint64_t> offsets;  // in the file, of each function that the name fits
};

// `text`: FILE:FUNCTION; the function's name as ImageSymbols::named() takes it.
Result<SymbolPlace> find_symbol(const std::string& text);
// Where it begins in this process; none: it does not have the file, or is gone.
std::vector<uint64_t> addresses_in(pid_t pid, const SymbolPlace& place);

}  // namespace fathom::snapshot
