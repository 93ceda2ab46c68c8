// The body of a capture's bytes, decompressed: the part of decode.h that its fuzz target takes apart.
#pragma once

#include <string_view>

#include "base/result.h"
#include "capture/decode.h"

namespace fathom::capture {

Result<Capture> decode_body(std::string_view body, const DecodeLimits& limits, uint64_t* memory_bytes = nullptr);

}  // namespace fathom::capture
