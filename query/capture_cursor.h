// The text of the end of a page of captures: opaque to clients, bound to the query that made it.
//
// Format (version 1, little-endian, then base64url): version u8; from, to, start u64 each; capture id 16 bytes;
// checksum u64, XXH3 of what precedes, seeded with a hash of the query. The range is in it because "the last hour"
// moves between two pages. Thread safety: plain functions. Errors: kInvalid with the cure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "query/captures.h"

namespace fathom::query {

struct CapturePosition {
  store::TimeRange range;
  store::CaptureCursor cursor;
};

// What a cursor is bound to: everything that a query asks for, but for the number of rows.
uint64_t query_hash(const CapturesQuery& query);

std::string encode_capture_cursor(const CapturePosition& position, uint64_t query_hash);
Result<CapturePosition> decode_capture_cursor(std::string_view text, uint64_t query_hash);

}  // namespace fathom::query
