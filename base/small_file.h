// read_small_file: all of a file that people wrote: settings, certificates, keys.
//
// Thread safety: a plain function. Errors: kUnavailable when it cannot be read, kExhausted when it is larger than
// `most_bytes`; messages name the file, the system's words and, where there is one, the cure.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace fathom {

inline constexpr uint64_t kMostSmallFileBytes = 1 << 20;

Result<std::string> read_small_file(const std::string& path, uint64_t most_bytes = kMostSmallFileBytes);

}  // namespace fathom
