// The text of the end of a page of an oversized trace: opaque to clients, bound to the trace.
//
// Format (version 2, little-endian, then base64url): version u8; received sequence, first sequence, last sequence,
// start, sequence u64 each; span id 8 bytes; checksum u64, XXH3 of what precedes, seeded with a hash of the trace id.
// Thread safety: plain functions. Errors: kInvalid with the fix.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "store/span_store.h"

namespace fathom::query {

std::string encode_trace_cursor(const store::TraceCursor& cursor, const TraceId& trace_id);
Result<store::TraceCursor> decode_trace_cursor(std::string_view text, const TraceId& trace_id);

}  // namespace fathom::query
