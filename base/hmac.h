// hmac_sha256(): HMAC-SHA-256 as RFC 2104 defines it.
//
// Purpose: hashes that nobody can compute or verify without the key. Thread safety: a pure function. Errors: none.
#pragma once

#include <string_view>

#include "base/sha256.h"

namespace fathom {

Sha256 hmac_sha256(std::string_view key, std::string_view text);

}  // namespace fathom
