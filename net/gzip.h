// gzip for HTTP bodies and gRPC-like payloads, with a limit on what comes out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::net {

// kExhausted when the output would pass `max_bytes`; kInvalid when `in` is not gzip (or zlib); kUnavailable when `grow`
// refuses. `grow(n)` is asked before each further n bytes of output are taken. Up to 64 KiB of zeros behind a gzip body
// are overlooked, as gzip(1) does.
Result<std::string> gunzip(std::string_view in, uint64_t max_bytes, const std::function<bool(uint64_t)>& grow);
std::string gzip(std::string_view in, int level = 6);

}  // namespace fathom::net
