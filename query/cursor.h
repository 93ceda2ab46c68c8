// The text of a page's end: opaque to clients, bound to the query that made it.
//
// Format (version 1, little-endian, then base64url): version u8; from, to, received sequence, duration, start u64 each;
// trace id 16 bytes; span id 8 bytes; checksum u64, XXH3 of what precedes, seeded with a hash of the query. The range
// is in it because "the last hour" moves between two pages. Thread safety: plain functions. Errors: kInvalid with the
// cure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "query/queries.h"
#include "store/span_store.h"

namespace fathom::query {

struct PagePosition {
  store::TimeRange range;
  store::Cursor cursor;
};

// What a cursor is bound to: everything that a query asks for, but for the number of rows.
uint64_t query_hash(const SlowestQuery& query);

std::string encode_cursor(const PagePosition& position, uint64_t query_hash);
Result<PagePosition> decode_cursor(std::string_view text, uint64_t query_hash);

}  // namespace fathom::query
