// Reading and writing of all the bytes that were asked for: the loops that read(2) and write(2) leave to their callers.
//
// Thread safety: as the system's. Errors: kInternal, with the system's words behind `what`; kCorrupt where a file ends
// before what was to be read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace fathom {

Result<> write_whole(int file, std::string_view bytes, const std::string& what);
Result<> read_whole(int file, uint64_t offset, std::span<uint8_t> bytes, const std::string& what);

}  // namespace fathom
