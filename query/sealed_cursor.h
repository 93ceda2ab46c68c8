// What both kinds of cursors are sealed in: a checksum that is seeded with a hash of the query, and text of base64url.
//
// Purpose: a cursor goes through a stranger's hands, and belongs to one query. Format: the payload, then u64, XXH3 of
// it, seeded; base64url. Thread safety: plain functions. Errors: kInvalid with the cure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::query {

std::string seal_cursor(std::string payload, uint64_t query_hash);
// The payload, which has so many bytes, the first of which is `version`.
Result<std::string> open_cursor(std::string_view text, size_t payload_bytes, uint8_t version, uint64_t query_hash);

}  // namespace fathom::query
