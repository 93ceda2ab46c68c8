// What a file that was stripped still has of its symbols: .gnu_debugdata, an ELF file packed with LZMA.
//
// Thread safety: pure functions. Errors: kCorrupt; kExhausted when it unpacks to more than `most_bytes`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::snapshot {

Result<std::string> unpack_debug_data(std::string_view packed, uint64_t most_bytes);

}  // namespace fathom::snapshot
