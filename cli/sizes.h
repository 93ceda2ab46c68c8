// Sizes as people write and read them: "50GiB", "512 MiB".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::cli {

// "4096", "64KiB", "1.5GiB", "10GB": bytes, powers of 1024 with an i, powers of 1000 without.
Result<uint64_t> parse_size_bytes(std::string_view text);
std::string format_size(uint64_t bytes);

}  // namespace fathom::cli
