// base64url without padding (RFC 4648, 5): text that may stand in an address as it is.
//
// Thread safety: plain functions. Decoding is strict: each byte string has one text, and any other is nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fathom::query {

std::string base64url_encode(std::string_view bytes);
std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace fathom::query
