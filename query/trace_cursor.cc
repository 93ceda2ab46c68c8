#include "query/trace_cursor.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "query/sealed_cursor.h"

namespace fathom::query {

namespace {

constexpr uint8_t kTraceCursorVersion = 2;
constexpr size_t kTraceCursorBytes = 1 + 5 * 8 + 8;

}  // namespace

std::string encode_trace_cursor(const store::TraceCursor& cursor, const TraceId& trace_id) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kTraceCursorVersion);
  out.u64(cursor.received_sequence);
  out.u64(cursor.first_sequence);
  out.u64(cursor.last_sequence);
  out.u64(cursor.start_unix_nano);
  out.u64(cursor.sequence);
  out.raw(cursor.span_id.view());
  return seal_cursor(std::move(bytes), hash64(trace_id.view()));
}

Result<store::TraceCursor> decode_trace_cursor(std::string_view text, const TraceId& trace_id) {
  Result<std::string> payload = open_cursor(text, kTraceCursorBytes, kTraceCursorVersion, hash64(trace_id.view()));
  if (!payload) return payload.error();
  ByteReader in(std::string_view(*payload).substr(1));
  store::TraceCursor cursor;
  cursor.received_sequence = in.u64();
  cursor.first_sequence = in.u64();
  cursor.last_sequence = in.u64();
  cursor.start_unix_nano = in.u64();
  cursor.sequence = in.u64();
  cursor.span_id = SpanId::from_bytes(in.raw(8)).value_or(SpanId{});
  return cursor;
}

}  // namespace fathom::query
